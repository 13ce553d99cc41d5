import { type Ioredis, type IoredisCluster, isIoredis, isIoredisCluster } from '../../databases/ioredis.ts'
import {
  isNodeRedisClient,
  isNodeRedisCluster,
  isNodeRedisPool,
  isNodeRedisSentinel,
  type NodeRedis,
  type NodeRedisCluster,
  type NodeRedisPool,
  type NodeRedisSentinel,
} from '../../databases/node-redis.ts'
import { checkFlag, checkNames } from '../../option-check.ts'
import { LockError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import type { RedisClient } from './client.ts'
import { IoredisClient } from './ioredis.ts'
import { IoredisClusterClient } from './ioredis-cluster.ts'
import { NodeRedisClient } from './node-redis.ts'
import { NodeRedisClusterClient } from './node-redis-cluster.ts'
import { NodeRedisSentinelClient } from './node-redis-sentinel.ts'
import { OwnClient } from './own-client.ts'
import { RedisStore } from './store.ts'

export type { Ioredis, IoredisCluster } from '../../databases/ioredis.ts'
export type {
  NodeRedis,
  NodeRedisCluster,
  NodeRedisPool,
  NodeRedisSentinel,
} from '../../databases/node-redis.ts'

export interface RedisStoreOptions {
  /** What the names of all keys begin with. Default `holdfast`. Without braces. */
  readonly prefix?: string | undefined
  /**
   * How many replicas must have a grant before it counts; one that too few have in a second is taken back. Default 0.
   * Makes it unlikely that a fail-over forgets a lock, never impossible.
   */
  readonly replicas?: number | undefined
  /** Whether waiters are woken by messages, on one more connection. Default true; else the store polls. */
  readonly push?: boolean | undefined
}

/** Anything that holdfast can talk to Redis or Valkey with. */
export type RedisLike =
  | Ioredis
  | IoredisCluster
  | NodeRedis
  | NodeRedisPool
  | NodeRedisCluster
  | NodeRedisSentinel

/**
 * Locks in Redis 6.2 or later, or Valkey: one server, Sentinel or Cluster. Takes a client of ioredis (or iovalkey) or a
 * connected one of node-redis, which stay yours to close, or a URL, for which it opens one of its own.
 */
export function redisStore(clientOrUrl: string | RedisLike, options: RedisStoreOptions = {}): Store {
  checkNames('redisStore', options, OPTIONS)
  const { prefix = 'holdfast', replicas = 0 } = options
  if (typeof prefix !== 'string' || !PREFIX.test(prefix) || !prefix.isWellFormed()) {
    throw invalid('prefix: give 1 to 100 characters without braces, white space or control characters')
  }
  if (!Number.isInteger(replicas) || replicas < 0 || replicas > MOST_REPLICAS) {
    throw invalid(`replicas: give a whole number from 0 to ${MOST_REPLICAS}`)
  }
  const push = checkFlag('redisStore: push', options.push, true)
  const client = clientOf(clientOrUrl)
  // Before the braces of a bucket, empty ones would put each key in a slot of its own.
  if (client.cluster && /^[^{]*\{\}/.test(client.keyPrefix)) {
    throw invalid("the client's keyPrefix begins with empty braces, which keep keys of a cluster apart")
  }
  return new RedisStore({ client, prefix, replicas, push })
}

const OPTIONS = ['prefix', 'replicas', 'push']
const MOST_REPLICAS = 100
// eslint-disable-next-line no-control-regex
const PREFIX = /^[^{}\s\u0000-\u001f\u007f]{1,100}$/

function clientOf(client: unknown): RedisClient {
  if (typeof client === 'string') return new OwnClient(client, 'redisStore')
  if (isIoredisCluster(client)) return new IoredisClusterClient(client)
  if (isIoredis(client)) return new IoredisClient(client)
  if (isNodeRedisCluster(client)) return new NodeRedisClusterClient(client)
  if (isNodeRedisSentinel(client)) return new NodeRedisSentinelClient(client)
  if (isNodeRedisClient(client) || isNodeRedisPool(client)) return new NodeRedisClient(client)
  throw invalid('give a client of ioredis or node-redis, or a URL such as redis://localhost:6379')
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `redisStore: ${message}`)
}
