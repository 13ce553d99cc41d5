import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import client, { type RedisStoreAddress } from '../support/redis-client.ts'

const { url, prefix } = freshPrefix()
const address: RedisStoreAddress = { urls: [url], driver: 'node-redis', prefix }

storeConformance(
  { describe, it },
  {
    name: 'redis with node-redis',
    createStore: () => client(address),
    namesExpired: false,
    processes: { module: new URL('../support/redis-client.ts', import.meta.url), argument: address },
  },
)
