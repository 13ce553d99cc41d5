import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { documentFence, fence } from '../../src/fence/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { atLast, failureOf } from '../support/stage.ts'

const { url, database } = await freshMongoDatabase()

describe('the collection of a guard in MongoDB', () => {
  const client = new MongoClient(url)
  const db = client.db(database)
  atLast(() => client.close())

  it('is created once by twenty that want it at the same time', async () => {
    const guards = Array.from({ length: 20 }, () => fence(db, { collection: 'raced' }))
    await Promise.all(guards.map((guard) => guard.open()))
    expect(await db.listCollections({ name: 'raced' }).toArray()).toHaveLength(1)
  })

  it('is created by the first check, if nobody has before', async () => {
    const guard = fence(db, { collection: 'unopened' })
    await client.withSession((session) => session.withTransaction(() => guard.check(session, 'r', 1n)))
    expect(await guard.highest('r')).toBe(1n)
  })

  it('is not created with create: false', async () => {
    const guard = fence(db, { collection: 'absent', create: false })
    expect(await failureOf(guard.open())).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`${database}.absent is missing`),
    })
    await db.createCollection('absent')
    await guard.open()
  })

  it.each([
    ['a view', { viewOn: 'other', pipeline: [] }],
    ['capped', { capped: true, size: 4096 }],
    ['a time series', { timeseries: { timeField: 'at' } }],
  ])('is refused if it is %s', async (kind, options) => {
    const collection = `kind_${kind.replaceAll(' ', '_')}`
    await db.createCollection(collection, options)
    expect(await failureOf(fence(db, { collection }).open())).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(`is ${kind}`),
    })
  })

  it('is refused if it has something else where the token should be', async () => {
    await db.collection<{ _id: string; token: unknown }>('foreign').insertOne({ _id: 'r', token: 'secret' })
    expect(await failureOf(fence(db, { collection: 'foreign' }).highest('r'))).toMatchObject({
      code: 'INVALID_OPTION',
    })
  })

  it('is taken from the database of the connection string, given a client', async () => {
    const named = new MongoClient(url.replace('/?', `/${database}?`))
    atLast(() => named.close())
    await fence(named, { collection: 'of_the_string' }).open()
    expect(await db.listCollections({ name: 'of_the_string' }).toArray()).toHaveLength(1)
  })

  it.each([
    [() => fence(db, { table: 't' } as never), /unknown option 'table'/],
    [() => fence(db, { collection: 'system.x' }), /collection/],
    [() => fence(db, { collection: 'a$b' }), /collection/],
    [() => documentFence({} as never), /give a collection/],
    [() => documentFence(db.collection('c'), { field: 'a.b' }), /field/],
    [() => documentFence(db.collection('c'), { nonsense: 1 } as never), /unknown option 'nonsense'/],
  ])('refuses what is no option: %#', (call, message) => {
    expect(call).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
    )
  })
})

describe('a MongoDB server that stands alone', async () => {
  const alone = await freshMongoDatabase('mongo-standalone')
  const client = new MongoClient(alone.url)
  const db = client.db(alone.database)
  atLast(() => client.close())

  it('has no transactions, and the guard says so', async () => {
    const guard = fence(db)
    const checked = client.withSession((session) =>
      session.withTransaction(() => guard.check(session, 'r', 1n)),
    )
    expect(await failureOf(checked)).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/stands alone.*documentFence/),
    })
    expect(await guard.highest('r')).toBeNull()
    expect(await guard.forget('r')).toBe(false)
  })

  it('guards single documents', async () => {
    const guard = documentFence(db.collection<{ _id: string; n: number }>('items'))
    await guard.update({ _id: 'a' }, { $set: { n: 2 } }, 2n, { upsert: true })
    expect(await failureOf(guard.update({ _id: 'a' }, { $set: { n: 1 } }, 1n))).toMatchObject({
      code: 'STALE_TOKEN',
    })
  })
})
