import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import type { RedisLike } from '../../src/stores/redis/index.ts'
import { bucketOf } from '../../src/stores/redis/names.ts'
import type { RedisServer } from '../servers/redis.ts'
import type { RedisCluster } from '../servers/redis-cluster.ts'
import type { RedisSentinelSet } from '../servers/redis-sentinel.ts'
import { type Driver as IoredisDriver, drivers as ioredisDrivers } from './ioredis-drivers.ts'
import { drivers as nodeRedisDrivers, type NodeRedisDriver } from './node-redis-drivers.ts'

/** One way to get at a set of servers, as a user has it. */
export interface SetClient {
  readonly name: string
  /** Closed after the test. */
  open(): Promise<RedisLike | string>
}

const [ioredis] = ioredisDrivers as unknown as [IoredisDriver]
const [nodeRedis] = nodeRedisDrivers as unknown as [NodeRedisDriver]

export function sentinelClients(set: RedisSentinelSet): readonly SetClient[] {
  const { name, sentinels } = set
  return [
    { name: 'ioredis', open: async () => ioredis.redis({ name, sentinels }) },
    {
      name: 'node-redis',
      open: async () => {
        const client = nodeRedis.sentinel({ name, sentinelRootNodes: sentinels })
        await client.connect()
        return client
      },
    },
    { name: 'url', open: async () => `redis+sentinel://${hosts(set.sentinelServers)}/${name}` },
  ]
}

export interface Login {
  readonly username: string
  readonly password: string
}

export function clusterClients({ nodes }: RedisCluster, login?: Login): readonly SetClient[] {
  const addresses = nodes.map(({ host, port }) => ({ host, port }))
  const user = login ? `${login.username}:${login.password}@` : ''
  return [
    { name: 'ioredis', open: async () => ioredis.cluster(addresses, { redisOptions: login ?? {} }) },
    {
      name: 'node-redis',
      open: async () => {
        const rootNodes = addresses.map((socket) => ({ socket }))
        const client = nodeRedis.cluster({ rootNodes, defaults: login ?? {} })
        await client.connect()
        return client
      },
    },
    { name: 'url', open: async () => `redis+cluster://${user}${hosts(nodes)}` },
  ]
}

function hosts(servers: readonly RedisServer[]): string {
  return servers.map(({ host, port }) => `${host}:${port}`).join(',')
}

/** Until so many replicas have all that was written so far. */
export async function replicated({ url }: RedisServer, replicas: number): Promise<void> {
  const client = new Redis(url)
  client.on('error', () => {}) // The calls fail with it too.
  try {
    // WAIT is about what was written before the last command of its connection.
    await client.ping()
    const seen = await client.wait(replicas, 10_000)
    if (seen < replicas) throw new Error(`${seen} of ${replicas} replicas followed`)
  } finally {
    client.disconnect()
  }
}

/** Kills a master after `work`, of which its replicas have not heard a word. */
export async function killUnheard(
  master: RedisServer,
  replicas: readonly RedisServer[],
  work: () => Promise<unknown>,
): Promise<void> {
  await Promise.all(replicas.map((replica) => replica.pause()))
  try {
    // Else they would find it in their sockets.
    await master.command('client', 'kill', 'type', 'replica')
    await work()
  } finally {
    await master.kill()
    for (const replica of replicas) replica.resume()
  }
}

/** Keeps the tokens of all clients that a test has, and what was wrong with them. */
export class Tokens {
  readonly faults: string[] = []
  readonly #last = new Map<string, bigint>()

  watch(locks: Locks): void {
    locks.on('granted', ({ key, token }) => {
      const last = this.#last.get(key) ?? 0n
      if (token <= last) this.faults.push(`${key}: ${token} after ${last}`)
      this.#last.set(key, token)
    })
  }
}

/**
 * Renews leases during a fail-over, far more often than they need it, and once it is `over` until all that are held are
 * renewed: a client may first have to notice who is the master now.
 */
export async function renewThrough(leases: readonly Lease[], over: () => boolean): Promise<void> {
  for (;;) {
    const last = over()
    const renewed = await Promise.allSettled(leases.map((lease) => lease.extend()))
    if (last && leases.every(({ held }, index) => !held || renewed[index]?.status === 'fulfilled')) return
    await sleep(1000)
  }
}

/** Some keys of one bucket. */
export function keysIn(bucket: string, count: number): string[] {
  const keys: string[] = []
  for (let index = 0; keys.length < count; index += 1)
    if (bucketOf(`one ${index}`) === bucket) keys.push(`one ${index}`)
  return keys
}

/**
 * The least that a user of every node of a cluster needs for locks with the default prefix. The second line is for
 * `replicas`, the third for ioredis, which looks whether a node
 * is ready, and at replicas.
 */
export const LEAST_CLUSTER_RIGHTS: string =
  'resetkeys resetchannels -@all ~holdfast:* &holdfast:* +evalsha +eval +time +get +mget +set +mset +del ' +
  '+pexpire +pttl +spublish +ssubscribe +sunsubscribe +ping +scan +cluster|slots +asking +client|setname ' +
  '+wait ' +
  '+cluster|info +info +readonly'
