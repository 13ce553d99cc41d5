import { Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { clientsOf } from '../support/mongo-fence-stage.ts'
import { failureOf } from '../support/stage.ts'

const HIGHEST = 2n ** 63n - 1n

const { url, database } = await freshMongoDatabase()

describe.each(clientsOf(url))('a guard in MongoDB, with %s', (name, client) => {
  const db = client.db(database)
  const collection = `fence_${name.replaceAll(' ', '_')}`
  const guard = fence(db, { collection })
  const stock = db.collection<{ _id: string; amount: number }>(`stock_${collection}`)
  const TRANSACTION = {
    readPreference: 'primary',
    readConcern: { level: 'snapshot' },
    writeConcern: { w: 'majority' },
  } as const

  const write = (resource: string, token: bigint, amount: number, strict?: boolean): Promise<unknown> =>
    client.withSession((session) =>
      session.withTransaction(async () => {
        await guard.check(session, resource, token, { strict })
        await stock.updateOne({ _id: resource }, { $set: { amount } }, { session, upsert: true })
      }, TRANSACTION),
    )
  const amountOf = async (resource: string): Promise<unknown> =>
    (await stock.findOne({ _id: resource }, { readPreference: 'primary', readConcern: { level: 'local' } }))
      ?.amount

  it('lets a newer token write, and refuses an older one, which then writes nothing', async () => {
    await write('late', 10n, 10)
    await write('late', 11n, 11)
    expect(await failureOf(write('late', 10n, 12))).toMatchObject({
      code: 'STALE_TOKEN',
      key: 'late',
      message: expect.stringMatching(/token 10 is stale.*11/),
    })
    expect(await amountOf('late')).toBe(11)
    expect(await guard.highest('late')).toBe(11n)
  })

  it('lets the same token write again, and with strict only once', async () => {
    await write('again', 5n, 1)
    await write('again', 5n, 2)
    expect(await failureOf(write('again', 5n, 3, true))).toMatchObject({ code: 'STALE_TOKEN' })
    await write('again', 6n, 4, true)
    expect(await amountOf('again')).toBe(4)
  })

  it('tells tokens apart that a number could not', async () => {
    await write('digits', HIGHEST - 1n, 1)
    expect(await guard.highest('digits')).toBe(HIGHEST - 1n)
    await write('digits', HIGHEST, 2)
    expect(await guard.highest('digits')).toBe(HIGHEST)
    expect(await failureOf(write('digits', HIGHEST - 1n, 3))).toMatchObject({ code: 'STALE_TOKEN' })
    const kept = await db
      .collection<{ _id: string }>(collection)
      .findOne({ _id: 'digits' }, { promoteLongs: false })
    expect((kept as unknown as { token: Long }).token).toMatchObject(Long.MAX_VALUE)
  })

  it('counts a token as seen only once its transaction is committed', async () => {
    await client.withSession(async (session) => {
      session.startTransaction(TRANSACTION)
      await guard.check(session, 'rolled back', 9n)
      expect(await guard.highest('rolled back')).toBeNull()
      await session.abortTransaction()
    })
    expect(await guard.highest('rolled back')).toBeNull()
    await write('rolled back', 1n, 1)
  })

  it.each([
    ['both are new to the resource', null, 3n],
    ['a higher token comes second', 1n, 3n],
    ['the token is one that was seen', 2n, 2n],
  ])('makes two transactions on one resource conflict: %s', async (which, seen, token) => {
    const resource = `conflict ${which}`
    if (seen !== null) await write(resource, seen, 0)
    await client.withSession((first) =>
      client.withSession(async (second) => {
        first.startTransaction(TRANSACTION)
        second.startTransaction(TRANSACTION)
        await guard.check(first, resource, 2n)
        const conflict = await failureOf(guard.check(second, resource, token))
        expect(conflict).toMatchObject({ code: 112 })
        expect(
          (conflict as unknown as { hasErrorLabel(label: string): boolean }).hasErrorLabel(
            'TransientTransactionError',
          ),
        ).toBe(true)
        await first.commitTransaction()
        await second.abortTransaction()
      }),
    )
    await write(resource, token, 1)
  })

  it('makes a transaction conflict that has looked before the other one was committed', async () => {
    for (const resource of ['looked early', 'looked early at nothing']) {
      if (resource === 'looked early') await write(resource, 1n, 1)
      await client.withSession(async (session) => {
        session.startTransaction(TRANSACTION)
        await stock.findOne({ _id: resource }, { session })
        await write(resource, 2n, 2)
        const conflict = await failureOf(guard.check(session, resource, 3n))
        expect(conflict).toMatchObject({ code: 112 })
        await session.abortTransaction()
      })
    }
  })

  it('forgets a resource', async () => {
    await write('gone', 7n, 1)
    expect(await guard.forget('gone')).toBe(true)
    expect(await guard.forget('gone')).toBe(false)
    expect(await guard.highest('gone')).toBeNull()
    await write('gone', 1n, 1)
  })

  it('is refused outside of a transaction', async () => {
    const session = client.startSession()
    for (const [tx, message] of [
      [session, /outside of a transaction/],
      [db, /outside of a transaction/],
      [client, /outside of a transaction/],
      [{}, /give the session/],
    ] as const) {
      expect(await failureOf(guard.check(tx as never, 'r', 1n))).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(message),
      })
    }
    await session.endSession()
  })
})
