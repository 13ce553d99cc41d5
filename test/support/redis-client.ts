import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import type { Store } from '../../src/store.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { endingWith } from './ending-with.ts'

export interface RedisStoreAddress {
  /** One server, or nodes of a cluster. */
  readonly urls: readonly string[]
  readonly cluster?: boolean
  readonly driver: 'ioredis' | 'node-redis' | 'url'
  readonly prefix: string
  readonly push?: boolean
}

/** A store on a client of its own, which ends with the store: each stands for a process. */
export default async function client(address: unknown): Promise<Store> {
  const { urls, cluster = false, driver, prefix, push = true } = address as RedisStoreAddress
  const [url = ''] = urls
  const options = { prefix, push }
  if (driver === 'url') {
    const hosts = urls.map((each) => new URL(each).host).join(',')
    return redisStore(cluster ? `redis+cluster://${hosts}` : url, options)
  }
  if (driver === 'ioredis') {
    const redis = cluster ? new Cluster([...urls]) : new Redis(url)
    redis.on('error', () => {})
    return endingWith(redisStore(redis, options), () => redis.disconnect())
  }
  const redis = cluster
    ? createCluster({ rootNodes: urls.map((each) => ({ url: each })) })
    : createClient({ url })
  redis.on('error', () => {})
  await redis.connect()
  return endingWith(redisStore(redis, options), () => redis.destroy())
}
