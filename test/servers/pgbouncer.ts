/**
 * A real PgBouncer in front of a PostgreSQL. Importing this finds the program, or installs it.
 *
 *     const pooler = await startPgBouncer(server.url, { mode: 'transaction' })
 *     pooler.url   // the same database, through the pooler
 *     await pooler.stop()
 */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverAccount } from './account.ts'
import { runStatement } from './postgres-statement.ts'
import { programFolder } from './programs.ts'
import { ServerFolder } from './server-folder.ts'
import { type ServerProgram, ServerProcess } from './server-process.ts'

export interface PgBouncerOptions {
  readonly mode: 'session' | 'transaction' | 'statement'
  /** As in the section [pgbouncer] of its file. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface PgBouncer {
  readonly url: string
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

const HOST = '127.0.0.1'

const programs = await programFolder({
  name: 'PgBouncer',
  files: ['pgbouncer'],
  folders: ['/usr/sbin'],
  packages: ['pgbouncer'],
})

/** All other defaults are PgBouncer's own: what it refuses there, it refuses here. */
export async function startPgBouncer(url: string, { mode, settings }: PgBouncerOptions): Promise<PgBouncer> {
  const target = new URL(url)
  const account = serverAccount('postgres')
  // It keeps nothing, and how to end at once differs from version to version.
  const folder = new ServerFolder('pgbouncer', 'SIGKILL', account)
  const file = join(folder.path, 'pgbouncer.ini')
  const program: ServerProgram = {
    name: 'PgBouncer',
    file: join(programs, 'pgbouncer'),
    account,
    args: (port) => {
      const all = { ...defaults(port), pool_mode: mode, ...settings }
      const lines = Object.entries(all).map(([key, value]) => `${key} = ${value}`)
      const text = ['[databases]', `* = ${connection(target)}`, '[pgbouncer]', ...lines, ''].join('\n')
      writeFileSync(file, text)
      if (account) chownSync(file, account.uid, account.gid)
      return [file]
    },
    listening: (port) => `listening on ${HOST}:${port}`,
    probe: (port) => runStatement(through(target, port), 'select 1'),
  }
  try {
    const server = await ServerProcess.start(program, folder)
    return {
      url: through(target, server.port),
      port: server.port,
      pid: server.pid,
      async stop(): Promise<void> {
        await server.end('SIGKILL')
        await folder.remove()
      },
    }
  } catch (error) {
    await folder.remove()
    throw error
  }
}

function defaults(port: number): Record<string, string | number> {
  return { listen_addr: HOST, listen_port: port, unix_socket_dir: '', auth_type: 'any' }
}

/** With `auth_type = any`, whoever asks becomes the user of the URL. */
function connection({ hostname, port, username, password }: URL): string {
  const parts = { host: hostname.replace(/^\[|\]$/g, ''), port: port || '5432', user: username, password }
  return Object.entries(parts)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => `${key}='${decodeURIComponent(value).replaceAll("'", "''")}'`)
    .join(' ')
}

function through(target: URL, port: number): string {
  const url = new URL(target)
  url.hostname = HOST
  url.port = String(port)
  return url.href
}
