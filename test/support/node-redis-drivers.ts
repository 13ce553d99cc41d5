import * as redis5 from 'redis'
import * as redis6 from 'redis-6'
import type {
  NodeRedis,
  NodeRedisCluster,
  NodeRedisPool,
  NodeRedisSentinel,
} from '../../src/databases/node-redis.ts'
import { atEnd } from './stage.ts'

/** What a user does with a client of any kind. */
interface Users {
  connect(): Promise<unknown>
  destroy(): unknown
}

export interface NodeRedisDriver {
  readonly name: string
  readonly packageName: string
  /** Not connected; destroyed after the test. */
  client(options: redis5.RedisClientOptions): NodeRedis & Users
  pool(options: redis5.RedisClientOptions, limits?: { maximum: number }): NodeRedisPool & Users
  cluster(options: redis5.RedisClusterOptions): NodeRedisCluster & Users
  sentinel(options: redis5.RedisSentinelOptions): NodeRedisSentinel & Users
}

function ending<C extends Users>(client: C): C {
  atEnd(async () => {
    try {
      await client.destroy()
    } catch {
      // Closed by the test.
    }
  })
  return client
}

export const drivers: readonly NodeRedisDriver[] = [
  {
    name: 'node-redis 5',
    packageName: 'redis',
    client: (options) => ending(redis5.createClient(options)),
    pool: (options, limits) => ending(redis5.createClientPool(options, limits)),
    cluster: (options) => ending(redis5.createCluster(options)),
    sentinel: (options) => ending(redis5.createSentinel(options)),
  },
  {
    name: 'node-redis 6',
    packageName: 'redis-6',
    client: (options) => ending(redis6.createClient(options as redis6.RedisClientOptions)),
    pool: (options, limits) => ending(redis6.createClientPool(options as redis6.RedisClientOptions, limits)),
    cluster: (options) => ending(redis6.createCluster(options as redis6.RedisClusterOptions)),
    sentinel: (options) => ending(redis6.createSentinel(options as redis6.RedisSentinelOptions)),
  },
]
