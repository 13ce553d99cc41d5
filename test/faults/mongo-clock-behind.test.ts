import { expect, it } from 'vitest'
import type { MongoDb, MongoDocument } from '../../src/databases/mongo.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { askFor } from '../support/asks.ts'
import { atEnd, clientOn, COLLECTION } from '../support/mongo-stage.ts'

const { url, database } = await freshMongoDatabase()

it('G2 many leases are renewed only if they were prolonged, also where the next clock is behind', async () => {
  const db = clientOn(url).db(database)
  const records = db.collection<{ _id: string; expiresAt: Date }>(COLLECTION)
  /** As all of them look if the clock is so much ahead. */
  const look = (aheadMs: number): Promise<unknown> =>
    records.updateMany({}, [
      { $set: { expiresAt: { $add: ['$since', { $subtract: ['$leaseMs', aheadMs] }] } } },
    ])
  let updates = 0
  const command = async (document: MongoDocument, options?: object): Promise<MongoDocument> => {
    const reply = await db.command(document, options)
    if ('update' in document && (updates += 1) === 1) await look(0)
    return reply
  }
  const { databaseName, client } = db as unknown as MongoDb
  const store = mongoStore({
    databaseName,
    client,
    command,
    collection: (name) => db.collection(name) as never,
  })
  atEnd(() => store.close())
  const asks = ['a', 'b', 'c', 'd', 'e'].map((key) => askFor(key, { leaseMs: 20_000 }))
  await store.acquire(asks)
  await look(3_600_000)
  updates = 0
  const [stolen, ...rest] = asks.map((ask) => ({ ...ask, leaseMs: 300_000 }))
  const answers = await store.renew([{ ...stolen!, owner: 'somebody else' }, ...rest])
  expect(answers).toEqual([{ renewed: false }, ...rest.map(() => expect.objectContaining({ renewed: true }))])
  const { locks } = await store.list({ limit: 10, after: 'a' })
  expect(locks.map(({ remainingMs }) => remainingMs > 200_000)).toEqual(rest.map(() => true))
  expect(updates).toBe(2)
})
