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
      random.chance(0.15)
        ? flush(`server ${server.port}`, async () => [server])
        : serverStrike(random, server, { logs, forgets: true }),
    keepLogs: () => logs.keep([server]),
    stop: () => server.stop(),
  }
}

interface Flushed {
  command(name: string): Promise<unknown>
}

export function flush(target: string, servers: () => Promise<readonly Flushed[]>): Strike {
  return {
    ...{ fault: 'flushed', target, loses: true, ms: 0 },
    begin: async () => {
      for (const server of await servers()) await server.command('flushall')
    },
    end: () => {},
  }
}
