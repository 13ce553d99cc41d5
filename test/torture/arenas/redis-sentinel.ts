import type { Random } from '../../simulation/random.ts'
import { type RedisSentinelSet, startSentinel } from '../../servers/redis-sentinel.ts'
import { ServerLogs } from './server-logs.ts'
import { nodeStrike } from '../nemesis/server-strikes.ts'
import type { Strike } from '../nemesis/strike.ts'
import type { Arena } from './arena.ts'
import { flush } from './redis.ts'

/** More than a busy machine takes to answer: no fail-over that nobody asked for. */
const DOWN_AFTER_MS = 3000

export default async function open(folder: string): Promise<Arena> {
  const set = await startSentinel()
  for (const sentinel of set.sentinelServers)
    await sentinel.command('sentinel', 'set', set.name, 'down-after-milliseconds', DOWN_AFTER_MS)
  const logs = new ServerLogs(folder)
  const { name: master, sentinels: nodes } = set
  const all = [...set.nodes, ...set.sentinelServers]
  const url = `redis+sentinel://${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}/${master}`
  const kind = 'redis-sentinel'
  return {
    url,
    addresses: ['ioredis', 'node-redis', 'url'].map((driver) => ({ kind, driver, url, nodes, master })),
    ports: all.map(({ port }) => port),
    strike: (random) => strike(random, set, logs),
    roles: async () => String((await set.master()).port),
    keepLogs: () => logs.keep(all),
    stop: () => set.stop(),
  }
}

function strike(random: Random, set: RedisSentinelSet, logs: ServerLogs): Strike {
  const kind = random.weighted([
    [4, 'master killed'],
    [4, 'master paused'],
    [1, 'replica killed'],
    [2, 'sentinel paused'],
    [2, 'flushed'],
  ] as const)
  if (kind === 'flushed') return flush('master', async () => [await set.master()])
  const loses = kind.startsWith('master')
  return {
    ...{ fault: kind, target: 'set', loses },
    // Some are over before anybody takes it for dead, some are not.
    ms: random.between(500, loses ? 3 * DOWN_AFTER_MS : DOWN_AFTER_MS),
    ...nodeStrike({
      ...{ paused: kind.endsWith('paused'), logs },
      choose: async () => {
        const master = await set.master()
        if (kind === 'sentinel paused') return random.pick(set.sentinelServers)
        return loses ? master : set.nodes.find((node) => node !== master)
      },
      settled: () => set.settled(),
    }),
  }
}
