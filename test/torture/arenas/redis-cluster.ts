import type { Random } from '../../simulation/random.ts'
import { type RedisCluster, startRedisCluster } from '../../servers/redis-cluster.ts'
import { ServerLogs } from './server-logs.ts'
import { nodeStrike } from '../nemesis/server-strikes.ts'
import type { Strike } from '../nemesis/strike.ts'
import type { Arena } from './arena.ts'
import { flush } from './redis.ts'

/** More than a busy machine takes to answer: no fail-over that nobody asked for. */
const NODE_TIMEOUT_MS = 3000

export default async function open(folder: string): Promise<Arena> {
  const cluster = await startRedisCluster({ settings: { 'cluster-node-timeout': NODE_TIMEOUT_MS } })
  const logs = new ServerLogs(folder)
  const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }))
  const url = `redis+cluster://${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`
  const kind = 'redis-cluster'
  return {
    url,
    addresses: ['ioredis', 'node-redis', 'url'].map((driver) => ({ kind, driver, url, nodes })),
    ports: nodes.map(({ port }) => port),
    strike: (random) => strike(random, cluster, logs),
    roles: async () => {
      const ports = (await cluster.masters()).map(({ port }) => port)
      return ports.sort((a, b) => a - b).join(' ')
    },
    keepLogs: () => logs.keep(cluster.nodes),
    stop: () => cluster.stop(),
  }
}

function strike(random: Random, cluster: RedisCluster, logs: ServerLogs): Strike {
  const kind = random.weighted([
    [4, 'master killed'],
    [4, 'master paused'],
    [1, 'replica killed'],
    [2, 'flushed'],
  ] as const)
  if (kind === 'flushed') return flush('masters', () => cluster.masters())
  const loses = kind.startsWith('master')
  return {
    ...{ fault: kind, target: 'cluster', loses },
    ms: random.between(500, loses ? 3 * NODE_TIMEOUT_MS : NODE_TIMEOUT_MS),
    ...nodeStrike({
      ...{ paused: kind.endsWith('paused'), logs },
      choose: async () => {
        const master = random.pick(await cluster.masters())
        return loses ? master : cluster.replicaOf(master)
      },
      settled: () => cluster.settled(),
    }),
  }
}
