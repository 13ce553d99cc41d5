import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import client, { type RedisStoreAddress } from '../support/redis-client.ts'

const { url, prefix } = freshPrefix()
const address: RedisStoreAddress = { urls: [url], driver: 'ioredis', prefix }

storeConformance(
  { describe, it },
  {
    name: 'redis with ioredis',
    createStore: () => client(address),
    namesExpired: false,
    processes: { module: new URL('../support/redis-client.ts', import.meta.url), argument: address },
  },
)
