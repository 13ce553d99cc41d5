/**
 * Real MariaDB servers for tests and benches. Importing this finds the programs, or installs them: no time limit of a
 * test counts that.
 *
 *     const server = await startMariadb({ settings: { innodb_lock_wait_timeout: 1 } })
 *     server.url                    // also host, port, pid
 *     await server.restart()        // in order. Same port, same data
 *     await server.pause()          // it stands still; server.resume()
 *     await server.kill()           // SIGKILL; then server.start()
 *     await server.stop()           // and its folder is gone
 *
 * Durable as it comes. It does not outlive this process. A test that only needs a database takes
 * `freshMariadbDatabase()` from shared-mariadb.ts: that is cheaper.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serverAccount } from './account.ts'
import { mysqlStatement } from './mysql-statement.ts'
import { programFolder } from './programs.ts'
import { ServerFolder } from './server-folder.ts'
import { type ServerProgram, ServerProcess } from './server-process.ts'
import { StartedServer } from './started-server.ts'

export interface MariadbOptions {
  /** As in my.cnf. */
  readonly settings?: Readonly<Record<string, string | number>>
}

const HOST = '127.0.0.1'

// Room for tests with dozens of processes; small files, so that a server is there at once.
const SETTINGS = {
  'bind-address': HOST,
  'skip-name-resolve': 1,
  max_connections: 300,
  innodb_buffer_pool_size: '64M',
  innodb_log_file_size: '16M',
  performance_schema: 0,
}

// The packages without the service: nothing is started but what a test starts.
const source = {
  packages: ['mariadb-server-core', 'mariadb-client-core'],
  advice: 'set HOLDFAST_MYSQL_URL, which is enough for the tests that do not stop their server',
} as const
const programs = await programFolder({
  name: 'MariaDB',
  files: ['mariadbd'],
  folders: ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'],
  ...source,
})
const installers = await programFolder({
  name: 'MariaDB',
  files: ['mariadb-install-db'],
  folders: ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'],
  ...source,
})
const execute = promisify(execFile)

export async function startMariadb(options: MariadbOptions = {}): Promise<MariadbServer> {
  const account = serverAccount('mysql')
  const folder = new ServerFolder('mariadb', 'SIGTERM', account)
  const data = join(folder.path, 'data')
  const settings = Object.entries({ ...SETTINGS, ...options.settings })
  const flags = settings.map(([name, value]) => `--${name}=${value}`)
  const program: ServerProgram = {
    name: 'MariaDB',
    file: join(programs, 'mariadbd'),
    account,
    args: (port) => [
      '--no-defaults',
      `--datadir=${data}`,
      `--port=${port}`,
      `--socket=${join(folder.path, 'socket')}`,
      ...flags,
    ],
    listening: () => 'ready for connections',
    probe: (port) => mysqlStatement(urlOf(port), 'select 1').then(() => undefined),
  }
  try {
    await execute(
      join(installers, 'mariadb-install-db'),
      [
        '--no-defaults',
        `--datadir=${data}`,
        '--auth-root-authentication-method=normal',
        '--skip-test-db',
        '--skip-name-resolve',
        `--innodb-log-file-size=${SETTINGS.innodb_log_file_size}`,
      ],
      { ...account, cwd: '/', timeout: 60_000 },
    )
    return new MariadbServer(await ServerProcess.start(program, folder), folder)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

export class MariadbServer extends StartedServer {
  readonly url: string

  constructor(process: ServerProcess, folder: ServerFolder) {
    super(process, folder)
    this.url = urlOf(this.port)
  }
}

function urlOf(port: number): string {
  return `mysql://root@${HOST}:${port}/mysql`
}
