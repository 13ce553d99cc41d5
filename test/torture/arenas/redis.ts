import { startRedis } from '../../servers/redis.ts'
import { ServerLogs } from './server-logs.ts'
import { serverStrike } from '../nemesis/server-strikes.ts'
import type { Strike } from '../nemesis/strike.ts'
import type { Arena } from './arena.ts'

export default async function open(folder: string): Promise<Arena> {
  const server = await startRedis()
  const logs = new ServerLogs(folder)
  const { url } = server
  return {
    url,
    addresses: ['ioredis', 'node-redis', 'url'].map((driver) => ({ kind: 'redis', driver, url })),
    ports: [server.port],
    // It keeps nothing on disk.
    strike: (random) =>
      random.chance(0.15) ? flush([server]) : serverStrike(random, server, { logs, forgets: true }),
    keepLogs: () => logs.keep([server]),
    stop: () => server.stop(),
  }
}

interface Flushed {
  readonly port: number
  command(name: string): Promise<unknown>
}

export function flush(servers: readonly Flushed[]): Strike {
  const target = servers.map(({ port }) => `server ${port}`).join(', ')
  return {
    ...{ fault: 'flushed', target, loses: true, ms: 0 },
    begin: () => Promise.all(servers.map((server) => server.command('flushall'))),
    end: () => {},
  }
}
