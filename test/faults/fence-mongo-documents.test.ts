import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { documentFence } from '../../src/fence/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { clientsOf } from '../support/mongo-fence-stage.ts'
import { atEnd, failureOf } from '../support/stage.ts'

const HIGHEST = 2n ** 63n - 1n

const { url, database } = await freshMongoDatabase()

describe.each(clientsOf(url))('a guard of single documents in MongoDB, with %s', (name, client) => {
  const items = client.db(database).collection<{ _id: string; amount: number }>(`items of ${name}`)
  const single = documentFence(items)
  const stored = (_id: string): Promise<unknown> =>
    items.findOne(
      { _id },
      { readPreference: 'primary', readConcern: { level: 'local' }, projection: { _id: 0, fence: 0 } },
    )

  it('updates with a newer token, and refuses an older one, which then changes nothing', async () => {
    await items.insertOne({ _id: 'late', amount: 1 })
    expect(await single.highest({ _id: 'late' })).toBeNull()
    expect(await single.update({ _id: 'late' }, { $set: { amount: 2 } }, HIGHEST - 1n)).toMatchObject({
      matchedCount: 1,
    })
    await single.update({ _id: 'late' }, [{ $set: { amount: { $add: ['$amount', 1] } } }], HIGHEST)
    expect(await single.highest({ _id: 'late' })).toBe(HIGHEST)
    const late = single.update({ _id: 'late' }, { $inc: { amount: 1 } }, HIGHEST - 1n, { upsert: true })
    expect(await failureOf(late)).toMatchObject({ code: 'STALE_TOKEN', key: items.collectionName })
    expect(await stored('late')).toEqual({ amount: 3 })
    expect(
      await items.countDocuments({}, { readConcern: { level: 'local' }, readPreference: 'primary' }),
    ).toBe(1)
  })

  it('lets the same token update again, and with strict only once', async () => {
    await single.update({ _id: 'again' }, { $set: { amount: 1 } }, 5n, { upsert: true })
    await single.update({ _id: 'again' }, { $inc: { amount: 1 } }, 5n)
    const again = single.update({ _id: 'again' }, { $inc: { amount: 1 } }, 5n, { strict: true })
    expect(await failureOf(again)).toMatchObject({ code: 'STALE_TOKEN' })
    expect(await stored('again')).toEqual({ amount: 2 })
  })

  it('says by its result that there is no such document', async () => {
    expect(await single.update({ _id: 'nobody' }, { $set: { amount: 1 } }, 1n)).toMatchObject({
      matchedCount: 0,
    })
    expect(await single.highest({ _id: 'nobody' })).toBeNull()
  })

  it('inserts once when many do so at a time, and the highest token wins', async () => {
    const tokens = Array.from({ length: 20 }, (_, i) => BigInt(i + 1))
    const outcomes = await Promise.allSettled(
      tokens.map((token) =>
        single.update({ _id: 'raced' }, { $set: { amount: Number(token) } }, token, { upsert: true }),
      ),
    )
    const failures = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    expect(new Set(failures).size <= 1 && (failures[0] ?? 'STALE_TOKEN')).toBe('STALE_TOKEN')
    expect(outcomes.at(-1)?.status).toBe('fulfilled')
    expect(await stored('raced')).toEqual({ amount: 20 })
  })

  it('passes on a duplicate that is of the making of the update', async () => {
    await items.createIndex({ code: 1 }, { unique: true, sparse: true })
    await items.insertOne({ _id: 'first', amount: 1, code: 'x' } as never)
    const second = single.update({ _id: 'second' }, { $set: { code: 'x' } } as never, 1n, { upsert: true })
    expect(await failureOf(second)).toMatchObject({ code: 11000 })
  })

  it.each([{}, { amount: 1 }, { $set: { amount: 1 }, amount: 2 }, null])(
    'refuses what is no update: %j',
    async (update) => {
      expect(await failureOf(single.update({ _id: 'x' }, update as never, 1n))).toMatchObject({
        code: 'INVALID_OPTION',
      })
    },
  )
})

it('on a client that promotes no values, whoever lost the race to insert gets a verdict, and no error of the server', async () => {
  const client = new MongoClient(url, { promoteValues: false })
  atEnd(() => client.close())
  const items = client.db(database).collection<{ _id: string; amount: number }>('unpromoted')
  const single = documentFence(items)
  // Several times: who is first is a matter of luck.
  for (const _id of ['a', 'b', 'c', 'd']) {
    const tokens = Array.from({ length: 12 }, (_, i) => BigInt(i + 1))
    const outcomes = await Promise.allSettled(
      tokens.map((token) => single.update({ _id }, { $inc: { amount: 1 } }, token, { upsert: true })),
    )
    const failures = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    expect(failures).toEqual(failures.map(() => 'STALE_TOKEN'))
    expect(await single.highest({ _id })).toBe(12n)
  }
})
