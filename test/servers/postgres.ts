/**
 * Real PostgreSQL servers for tests and benches. Importing this finds the programs, or installs them: no time
 * limit of a test counts that.
 *
 *     const server = await startPostgres({ settings: { deadlock_timeout: '10ms' } })
 *     server.url                         // also host, port, user, database, pid
 *     await server.restart('immediate')  // as after a crash; 'fast' in order. Same port, same data
 *     await server.pause()               // the whole server stands still; server.resume()
 *     await server.kill()                // SIGKILL, children too; then server.start()
 *     await server.stop()                // and its folder is gone
 *
 * Durable as it comes: fsync and synchronous_commit are on. It does not outlive this process. A test that only
 * needs a database takes `freshDatabase()` from shared-postgres.ts: that is cheaper.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, serverAccount } from './account.ts'
import { runStatement } from './postgres-statement.ts'
import { programFolder } from './programs.ts'
import { ServerFolder } from './server-folder.ts'
import { type ServerProgram, ServerProcess } from './server-process.ts'

export interface PostgresOptions {
  /** As in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>
}

const HOST = '127.0.0.1'
const USER = 'postgres'
const DATABASE = 'postgres'

// Room for tests with dozens of processes; no messages in another language, no sockets in shared folders.
const SETTINGS = {
  listen_addresses: HOST,
  unix_socket_directories: '',
  lc_messages: 'C',
  max_connections: 300,
}

const programs = await programFolder({
  name: 'PostgreSQL',
  files: ['postgres', 'initdb', 'pg_basebackup'],
  folders: ['/usr/lib/postgresql/*/bin'],
  packages: ['postgresql'],
  advice: 'set HOLDFAST_POSTGRES_URL, which is enough for the tests that do not stop their server',
})
const execute = promisify(execFile)

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  return start(options, (data, account) =>
    execute(
      join(programs, 'initdb'),
      ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
      { ...account, cwd: '/', timeout: 60_000 },
    ),
  )
}

/** A standby that follows the server and answers what only reads, until `promote()`. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  return start(primary.options, (data, account) =>
    execute(
      join(programs, 'pg_basebackup'),
      ['-D', data, '-d', primary.url, '-R', '--checkpoint=fast', '--no-sync', '--no-password'],
      { ...account, cwd: '/', timeout: 60_000 },
    ),
  )
}

async function start(
  options: PostgresOptions,
  fill: (data: string, account: Account | undefined) => Promise<unknown>,
): Promise<PostgresServer> {
  const account = serverAccount('postgres')
  const folder = new ServerFolder('postgres', 'SIGQUIT', account)
  const data = join(folder.path, 'data')
  const settings = Object.entries({ ...SETTINGS, ...options.settings })
  const program: ServerProgram = {
    name: 'PostgreSQL',
    file: join(programs, 'postgres'),
    account,
    args: (port) => [
      '-D',
      data,
      '-p',
      `${port}`,
      ...settings.flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ],
    listening: (port) => `listening on IPv4 address "${HOST}", port ${port}`,
    probe: (port) => runStatement(urlOf(port), 'select 1'),
  }
  try {
    await fill(data, account)
    return new PostgresServer(await ServerProcess.start(program, folder), folder, options)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

export class PostgresServer {
  readonly host: string = HOST
  readonly port: number
  readonly user: string = USER
  readonly database: string = DATABASE
  readonly url: string
  readonly options: PostgresOptions
  readonly #process: ServerProcess
  readonly #folder: ServerFolder
  #killed = false

  constructor(process: ServerProcess, folder: ServerFolder, options: PostgresOptions) {
    this.#process = process
    this.#folder = folder
    this.options = options
    this.port = process.port
    this.url = urlOf(process.port)
  }

  /** The postmaster's; another after each start. */
  get pid(): number {
    return this.#process.pid
  }

  /** After `kill`. */
  async start(): Promise<void> {
    await this.#process.start()
    this.#killed = false
  }

  async restart(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#process.end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await this.start()
  }

  /** The server and all its backends stand still: connections stay open and get no answer. */
  async pause(): Promise<void> {
    await this.#process.pause()
  }

  resume(): void {
    this.#process.resume()
  }

  async kill(): Promise<void> {
    this.#killed = true
    await this.#process.kill()
  }

  /** Of a standby: from now on it takes writes. Resolves when it does. */
  async promote(): Promise<void> {
    await runStatement(this.url, 'select pg_promote(true, 30)')
  }

  async stop(): Promise<void> {
    try {
      // What a killed server left in shared memory is removed by the next one on the same data.
      if (this.#killed) await this.start()
      // A server in order would wait for its standby; the data is thrown away in any case.
      await this.#process.end('SIGQUIT')
    } finally {
      await this.#folder.remove()
    }
  }
}

function urlOf(port: number): string {
  return `postgres://${USER}@${HOST}:${port}/${DATABASE}`
}
