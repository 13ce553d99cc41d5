import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import client, { type MongoStoreAddress } from '../support/mongo-client.ts'

const address: MongoStoreAddress = { ...(await freshMongoDatabase('mongo')), driver: 6 }

// Between processes it is the server that counts, and not the driver: they have their turn with the other one.
storeConformance(
  { describe, it },
  {
    name: 'mongo with driver 6',
    createStore: () => client(address),
  },
)
