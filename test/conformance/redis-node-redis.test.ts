import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import client, { type RedisStoreAddress } from '../support/redis-client.ts'

const { url, prefix } = freshPrefix()
const address: RedisStoreAddress = { urls: [url], driver: 'node-redis', prefix }

// Between processes it is the server that counts, and not the driver: they have their turn with the other one.
storeConformance(
  { describe, it },
  {
    name: 'redis with node-redis',
    createStore: () => client(address),
    namesExpired: false,
  },
)
