import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { bundled } from '../support/bundled.ts'
import { atLast, until } from '../support/stage.ts'

const CLI = await bundled(fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-serve-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))

type Env = Readonly<Record<string, string>>

function start(args: readonly string[], env: Env): ChildProcess {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: folder,
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  atLast(() => child.kill('SIGKILL'))
  return child
}

interface Serving {
  readonly url: URL
  readonly token: string
  stop(signal: 'SIGINT' | 'SIGTERM'): Promise<{ code: number | null; err: string }>
}

async function serve(args: readonly string[], env: Env): Promise<Serving> {
  const child = start(['serve', '--port', '0', ...args], env)
  const err = text(child.stderr!)
  const lines = createInterface({ input: child.stdout! })
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [string]
  const [, address = '', token = ''] =
    /^serving the locks of \S+ at (\S+?)(?:#token=(\S+))?$/.exec(line) ?? []
  if (address === '') throw new Error(`it did not start: ${line} ${await err}`)
  return {
    url: new URL(address),
    token: token || env['HOLDFAST_SERVER_TOKEN'] || '',
    async stop(signal) {
      child.kill(signal)
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, err: await err }
    },
  }
}

describe.concurrent('holdfast serve', () => {
  it('prints an address with a token, frees a key, writes the audit, and ends with 0', async () => {
    const store = `sqlite:${join(folder, 'serve.db')}`
    const locks = createLocks(store, { logger: null, service: 'shop' })
    atLast(() => locks.close())
    await locks.acquire('job')
    const audit = join(folder, 'audit.jsonl')
    const { url, token, stop } = await serve(['--audit', audit], { HOLDFAST_STORE: store })
    expect([url.hostname, token.length]).toEqual(['127.0.0.1', 32])
    expect((await fetch(new URL('api/locks', url))).status).toBe(401)
    const headers = { authorization: `Bearer ${token}`, origin: url.origin }
    const { locks: held } = (await (await fetch(new URL('api/locks', url), { headers })).json()) as {
      locks: { key: string; grant: number }[]
    }
    const [lock] = held
    expect(lock?.key).toBe('job')
    const path = `api/locks/job?grant=${lock?.grant}&why=stuck`
    expect((await fetch(new URL(path, url), { method: 'DELETE', headers })).status).toBe(200)
    expect(await locks.inspect('job')).toBeNull()
    const entries = readFileSync(audit, 'utf8').trimEnd().split('\n')
    expect(entries.map((line) => JSON.parse(line))).toMatchObject([
      { who: 'token', peer: '127.0.0.1', key: 'job', grant: lock?.grant, why: 'stuck', outcome: 'asked' },
      { outcome: 'released' },
    ])
    expect(statSync(audit).mode & 0o777).toBe(0o600)

    const numbers = start(['stats', '--url', url.href], { HOLDFAST_SERVER_TOKEN: token })
    expect(await text(numbers.stdout!)).toMatch(/^ends +0 released, 0 lost, 1 freed by force$/m)
    // A stream that is open does not keep it.
    const stream = await fetch(new URL('api/events', url), { headers })
    expect(stream.status).toBe(200)
    expect(await stop('SIGTERM')).toEqual({ code: 0, err: '' })
  })

  it('serves while the store is down, says so once, and ends with 0 at Ctrl-C', async () => {
    const { url, stop } = await serve([], {
      HOLDFAST_STORE: 'redis://127.0.0.1:1',
      HOLDFAST_CALL_TIMEOUT: '300ms',
      HOLDFAST_SERVER_TOKEN: 'a-token-of-more-than-32-characters',
    })
    await until(
      'it says that the store is down',
      async () => (await fetch(new URL('health/ready', url))).status === 503,
    )
    expect((await fetch(new URL('health/live', url))).status).toBe(200)
    const { code, err } = await stop('SIGINT')
    expect([code, err.trimEnd().split('\n').length]).toEqual([0, 1])
    expect(err).toContain('redis')
  })

  it('frees nothing with --read-only', async () => {
    const { url, token, stop } = await serve(['--read-only'], {
      HOLDFAST_STORE: `sqlite:${join(folder, 'ro.db')}`,
    })
    const headers = { authorization: `Bearer ${token}`, origin: url.origin }
    expect((await fetch(new URL('api/locks/a?grant=1', url), { method: 'DELETE', headers })).status).toBe(403)
    expect((await stop('SIGTERM')).code).toBe(0)
  })
})
