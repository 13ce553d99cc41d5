import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshClusterPrefix } from '../servers/shared-redis-cluster.ts'
import client, { type RedisStoreAddress } from '../support/redis-client.ts'

const { urls, prefix } = freshClusterPrefix()
const address: RedisStoreAddress = { urls, cluster: true, driver: 'node-redis', prefix }

// Between processes it is the server that counts, and not the driver: they have their turn with the other one.
storeConformance(
  { describe, it },
  {
    name: 'redis cluster with node-redis',
    createStore: () => client(address),
    namesExpired: false,
  },
)
