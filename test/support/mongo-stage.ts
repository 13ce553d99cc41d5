import { fileURLToPath } from 'node:url'
import { type Document, MongoClient, type MongoClientOptions } from 'mongodb'
import type { Locks } from '../../src/locks.ts'
import type { Store } from '../../src/store.ts'
import { mongoStore, type MongoStoreOptions } from '../../src/stores/mongo/index.ts'
import type { MongoServer } from '../servers/mongo.ts'
import type { Call } from './mongo-child.ts'
import { atEnd, locksOn } from './stage.ts'
import { TestProcess } from './test-process.ts'

export * from './stage.ts'

export const DATABASE = 'locks'
export const COLLECTION = 'holdfast_locks'

/** Closed after the test. */
export function clientOn(url: string, options: MongoClientOptions = {}): MongoClient {
  const client = new MongoClient(url, options)
  atEnd(() => client.close())
  return client
}

/** Closed after the test. */
export function storeOn(given: Parameters<typeof mongoStore>[0], options: MongoStoreOptions = {}): Store {
  const store = mongoStore(given, { ...(isDb(given) ? {} : { database: DATABASE }), ...options })
  atEnd(() => store.close())
  return store
}

function isDb(given: object | string): boolean {
  return typeof given === 'object' && 'databaseName' in given
}

/** The record of a key as it stands on the server; null if there is none. */
export async function recordOf(server: MongoServer, key: string): Promise<Document | null> {
  const reply = await server.command(DATABASE, { find: COLLECTION, filter: { _id: key }, limit: 1 })
  return reply['cursor'].firstBatch[0] ?? null
}

/** A poll so slow that only push can wake those who wait. */
export function locksWithoutPoll(store: Store): Locks {
  return locksOn(store, { poll: { max: '30s' } })
}

const CHILD = fileURLToPath(new URL('./mongo-child.ts', import.meta.url))

export type MongoProcess = TestProcess<Call['name']>

export async function startProcesses(count: number): Promise<MongoProcess[]> {
  return Promise.all(Array.from({ length: count }, () => TestProcess.fork<Call['name']>(CHILD)))
}

/** Ended after the test. */
export async function oneProcess(): Promise<MongoProcess> {
  const one = await TestProcess.fork<Call['name']>(CHILD)
  atEnd(() => one.end())
  return one
}
