import { MongoClient } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb-6'
import type { Store } from '../../src/store.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { endingWith } from './ending-with.ts'

export interface MongoStoreAddress {
  readonly url: string
  readonly database: string
  readonly driver: 6 | 7 | 'url'
}

/** A store on a client of its own, which ends with the store: each stands for a process. */
export default function client(address: unknown): Store {
  const { url, database, driver } = address as MongoStoreAddress
  if (driver === 'url') return mongoStore(url, { database })
  const mongo = driver === 6 ? new MongoClient6(url) : new MongoClient(url)
  return endingWith(mongoStore(mongo, { database }), () => mongo.close())
}
