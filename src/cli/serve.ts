import { randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import type { AuditEntry, ListeningLockServer } from '../server/index.ts'
import { parse, wholeNumber } from './arguments.ts'
import { type Command, type Terminal, UsageError } from './command.ts'
import { explain } from './failure.ts'
import { withSession } from './session.ts'
import { shown } from './text.ts'

export const serveCommand: Command = {
  name: 'serve',
  summary: 'serve the dashboard and the HTTP API',
  help: `usage: holdfast serve [--host 127.0.0.1] [--port 7373] [--read-only] [--audit FILE]
                      [--open-host NAME …]

Serves the dashboard, the HTTP API, /metrics and /health for the configured store, until Ctrl-C
or SIGTERM.

  --host ADDRESS    where it listens. Other than this machine's own it needs a token
  --port N          0 for any that is free
  --read-only       nobody can free a key through it
  --audit FILE      where forced releases are written, a line of JSON each; else on stderr
  --open-host NAME  another name under which it may be asked, such as that of a proxy (repeatable)

HOLDFAST_SERVER_TOKEN is the token that callers show: at least 32 characters. Without one it makes one up
and prints an address with it; whoever knows that address may free keys.
`,
  run(invocation) {
    const { values } = parse(invocation.args, {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '7373' },
      'read-only': { type: 'boolean', default: false },
      audit: { type: 'string' },
      'open-host': { type: 'string', multiple: true, default: [] },
    })
    const plan: Plan = {
      host: values.host,
      port: wholeNumber('--port', values.port, { min: 0, max: 65_535 }),
      readOnly: values['read-only'],
      audit: values.audit,
      hosts: values['open-host'],
      token: invocation.env?.['HOLDFAST_SERVER_TOKEN'] || undefined,
    }
    return withSession(invocation, async ({ locks, signals }) => {
      if (!signals.asked.aborted) {
        const listener = await start(locks, plan, invocation.terminal)
        await new Promise<void>((resolve) => {
          if (signals.asked.aborted) resolve()
          else signals.asked.addEventListener('abort', () => resolve(), { once: true })
        })
        await listener.close()
      }
      return 0
    })
  },
}

interface Plan {
  readonly host: string
  readonly port: number
  readonly readOnly: boolean
  readonly audit: string | undefined
  readonly hosts: readonly string[]
  readonly token: string | undefined
}

async function start(locks: Locks, plan: Plan, { out }: Terminal): Promise<ListeningLockServer> {
  const { host, port, readOnly, hosts } = plan
  const [{ listenLocks }, { isLoopbackName }] = await Promise.all([
    import('../server/index.ts'),
    import('../server/hosts.ts'),
  ])
  if (plan.token === undefined && !isLoopbackName(host))
    throw new UsageError(
      `--host ${shown(host)}: to be reached from other machines it needs a token: set HOLDFAST_SERVER_TOKEN`,
    )
  const audit = plan.audit === undefined ? undefined : await auditTo(plan.audit)
  // A store that is down is shown as such, and comes back. One that cannot be is a mistake to be told now.
  const { error, store } = await locks.health()
  if (error && error.code !== 'STORE_UNAVAILABLE') throw error
  const token = plan.token ?? randomBytes(24).toString('base64url')
  const options = { host, port, readOnly, hosts, token, audit, observe: 'always' } as const
  const listener = await listenLocks(locks, options).catch((error: unknown) => {
    throw ofToken(error)
  })
  const secret = plan.token === undefined ? `#token=${token}` : ''
  out.write(`serving the locks of ${shown(store)} at ${listener.url}${secret}\n`)
  out.write(`${readOnly ? 'read-only; ' : ''}the API is described in ${listener.url}openapi.json\n`)
  return listener
}

/** Lines of JSON. By name each time, so that the file may be rotated. */
async function auditTo(file: string): Promise<(entry: AuditEntry) => Promise<void>> {
  const append = (text: string): Promise<void> => appendFile(file, text, { mode: 0o600, flush: true })
  try {
    await append('')
  } catch (error) {
    throw new UsageError(`--audit: cannot be written: ${explain(error)}`)
  }
  return (entry) => append(`${JSON.stringify(entry)}\n`)
}

/** It comes from the environment, and not from the arguments. */
function ofToken(error: unknown): unknown {
  const [, detail] = /^lockServer: token: (.*)$/.exec((error as Error | null)?.message ?? '') ?? []
  return detail === undefined
    ? error
    : new LockError('INVALID_OPTION', `configuration: HOLDFAST_SERVER_TOKEN: ${detail}`)
}
