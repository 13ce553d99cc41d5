/**
 * Real Redis servers for tests and benches. Importing this finds the program, or installs it: no time limit of a
 * test counts that.
 *
 *     const server = await startRedis({ settings: { maxmemory: '2mb' } })
 *     server.url                    // also host, port, pid
 *     await server.command('set', 'key', 'value')
 *     await server.restart()        // in order. Same port
 *     await server.pause()          // it stands still; server.resume()
 *     await server.kill()           // SIGKILL; then server.start()
 *     await server.stop()           // and its folder is gone
 *
 * It keeps nothing over a start, unless the settings say so: `{ appendonly: 'yes', appendfsync: 'always' }`. It does
 * not outlive this process. A test that only needs some keys takes `freshPrefix()` from shared-redis.ts: that is
 * cheaper.
 */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverAccount } from './account.ts'
import { programFolder } from './programs.ts'
import { redisCommand } from './redis-command.ts'
import { ServerFolder } from './server-folder.ts'
import { type ServerProgram, ServerProcess } from './server-process.ts'
import { StartedServer } from './started-server.ts'

export interface RedisOptions {
  /** As in redis.conf; values as they stand there, quoted if they have to be. */
  readonly settings?: Readonly<Record<string, string | number>>
  readonly mode?: 'server' | 'sentinel'
}

const HOST = '127.0.0.1'

const programs = await programFolder({
  name: 'Redis',
  files: ['redis-server'],
  folders: ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'],
  packages: ['redis-server'],
  advice: 'set HOLDFAST_REDIS_URL, which is enough for the tests that do not stop their server',
})

/** All other defaults are those of Redis itself. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const account = serverAccount('redis')
  const folder = new ServerFolder('redis', 'SIGTERM', account)
  const file = join(folder.path, 'redis.conf')
  const sentinel = options.mode === 'sentinel'
  let written: number | undefined
  const program: ServerProgram = {
    name: sentinel ? 'Redis Sentinel' : 'Redis',
    file: join(programs, 'redis-server'),
    account,
    args: (port) => {
      // Once for a port: a sentinel keeps what it knows in this file, and CONFIG REWRITE is for the next start.
      if (port !== written) writeFileSync(file, fileFor(port, options))
      if (account) chownSync(file, account.uid, account.gid)
      written = port
      return sentinel ? [file, '--sentinel'] : [file]
    },
    listening: () => (sentinel ? 'Sentinel ID is' : 'Ready to accept connections'),
    probe: (port) => answers(`redis://${HOST}:${port}`),
  }
  try {
    return new RedisServer(await ServerProcess.start(program, folder), folder, options)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

export class RedisServer extends StartedServer {
  /** With the password of the settings, if there is one. */
  readonly url: string

  constructor(process: ServerProcess, folder: ServerFolder, { settings }: RedisOptions) {
    super(process, folder)
    const password = settings?.['requirepass']
    const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`
    this.url = `redis://${login}${HOST}:${process.port}`
  }

  /** On a connection of its own. */
  async command(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return redisCommand(this.url, name, ...args)
  }
}

/** Where the nodes of a cluster talk to this one. In the range of `freePort`, too. */
export function busPort(port: number): number {
  return port < 23_500 ? port + 8_500 : port - 8_500
}

function fileFor(port: number, { settings, mode }: RedisOptions): string {
  const common = { port, bind: HOST, 'protected-mode': 'yes', daemonize: 'no', dir: '.' }
  // No waiting for replicas, neither when they come nor when they go.
  const data = {
    save: '',
    appendonly: 'no',
    'repl-diskless-sync': 'yes',
    'repl-diskless-sync-delay': 0,
    'shutdown-timeout': 0,
  }
  // Without this it would be 10,000 higher, among the ports that systems give to outgoing connections.
  const bus = settings?.['cluster-enabled'] === 'yes' ? { 'cluster-port': busPort(port) } : {}
  const all = { ...common, ...(mode === 'sentinel' ? {} : data), ...bus, ...settings }
  return Object.entries(all)
    .map(([key, value]) => `${key} ${value === '' ? '""' : value}\n`)
    .join('')
}

/** It is up whatever it says: it may want a password, or no PING. */
async function answers(url: string): Promise<void> {
  try {
    await redisCommand(url, 'ping')
  } catch (error) {
    if ((error as Error).name !== 'ReplyError') throw error
  }
}
