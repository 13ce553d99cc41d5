import { type ClientSession, type Db, type Document, MongoClient, type MongoClientOptions } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb-6'
import { beforeEach } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import { type MongoServer, startMongo } from '../servers/mongo.ts'
import { atEnd, atLast, memoryLocks } from './stage.ts'

export { memoryLocks } from './stage.ts'

/** Both have the shape of version 7; that the types of version 6 fit as well, the tests of types see to. */
export const drivers: readonly {
  name: string
  connect(url: string, options?: MongoClientOptions): MongoClient
}[] = [
  { name: 'driver 7', connect: (url, options) => closing(new MongoClient(url, options)) },
  {
    name: 'driver 6',
    connect: (url, options) => closing(new MongoClient6(url, options as object) as unknown as MongoClient),
  },
]

function closing(client: MongoClient): MongoClient {
  atEnd(() => client.close())
  return client
}

/** To connect, and to make the collection of the guard, is no part of a lease that is short. */
export async function warm(client: MongoClient): Promise<void> {
  await memoryLocks().transaction('warm', shop(client), () => undefined)
}

/** The next commands of these names fail in this way; `times` absent: all of them, until the test is over. */
export async function failing(
  server: MongoServer,
  { times, ...data }: { readonly times?: number; readonly failCommands: string[] } & Document,
): Promise<{ end(): Promise<unknown>; count(): Promise<number> }> {
  const set = (mode: unknown, data: object = {}): Promise<Document> =>
    server.command('admin', { configureFailPoint: 'failCommand', mode, data })
  const { count: before } = await set(times === undefined ? 'alwaysOn' : { times }, data)
  const end = (): Promise<unknown> => set('off')
  atEnd(end)
  return { end, count: async () => Number((await set('off')).count) - Number(before) }
}

/** For a whole file: a server that it may freeze, and tell to fail, and what is stored there. */
export async function openShop(): Promise<{ server: MongoServer; stored: () => Promise<unknown[]> }> {
  const server = await startMongo({ replicaSet: 'rs' })
  atLast(() => server.stop())
  const observer = new MongoClient(server.url)
  atLast(() => observer.close())
  const writes = shop(observer).collection('writes')
  await shop(observer).createCollection('writes')
  beforeEach(() => writes.deleteMany({}))
  const stored = async (): Promise<unknown[]> =>
    (await writes.find().sort({ n: 1 }).toArray()).map(({ n }) => n as unknown)
  return { server, stored }
}

export function shop(client: MongoClient): Db {
  return client.db('shop')
}

export function insert(client: MongoClient, session: ClientSession, n: number): Promise<unknown> {
  return shop(client).collection('writes').insertOne({ n }, { session })
}

/** Resolves when the lease is over. */
export async function lost({ signal }: Lease): Promise<void> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
