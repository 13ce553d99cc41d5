import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import client, { type MongoStoreAddress } from '../support/mongo-client.ts'

const address: MongoStoreAddress = { ...(await freshMongoDatabase('mongo')), driver: 6 }

storeConformance(
  { describe, it },
  {
    name: 'mongo with driver 6',
    createStore: () => client(address),
    processes: { module: new URL('../support/mongo-client.ts', import.meta.url), argument: address },
  },
)
