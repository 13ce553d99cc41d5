import { MongoClient, type ClientSession, type CommandStartedEvent } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb-6'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { documentFence, fence } from '../../src/fence/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { drivers, insert, memoryLocks, openShop, shop } from '../support/mongo-transaction-stage.ts'
import { failureOf } from '../support/stage.ts'

const { server, stored } = await openShop()

describe.each(drivers)('a transaction on MongoDB, with $name', ({ connect }) => {
  it('commits what the function wrote, resolves to its result, and has shown the token to the guard', async () => {
    const client = connect(server.url)
    const locks = memoryLocks()
    let token = 0n
    const result = await locks.transaction('commits', shop(client), async (session, lease) => {
      await insert(client, session, 1)
      token = lease.token
      expect(await stored()).toEqual([])
      return 'done'
    })
    expect(result).toBe('done')
    expect(await stored()).toEqual([1])
    expect(await fence(shop(client)).highest('commits')).toBe(token)
    expect(await locks.inspect('commits')).toBeNull()
  })

  it('stores nothing if the function throws, whose error is passed on as it is', async () => {
    const client = connect(server.url)
    const own = new Error('sold out')
    const call = memoryLocks().transaction('throws', shop(client), async (session) => {
      await insert(client, session, 1)
      throw own
    })
    expect(await failureOf(call)).toBe(own)
    expect(await stored()).toEqual([])
    expect(await fence(shop(client)).highest('throws')).toBeNull()
  })

  it('keeps writers apart that both believe to have the lock', async () => {
    const client = connect(server.url)
    const locks = [memoryLocks(), memoryLocks()]
    const counters = shop(client).collection<{ _id: string; n: number }>('counters')
    await counters.deleteMany({})
    await counters.insertOne({ _id: 'c', n: 0 })
    // Two stores that know nothing of each other: what is left to keep them apart is the guard.
    const add = (i: number): Promise<unknown> =>
      locks[i % 2]!.transaction(
        'adds up',
        shop(client),
        async (session) => {
          const { n } = (await counters.findOne({ _id: 'c' }, { session })) ?? { n: Number.NaN }
          await counters.updateOne({ _id: 'c' }, { $set: { n: n + 1 } }, { session })
        },
        { wait: '20s' },
      )
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => add(i)))
    const done = outcomes.filter(({ status }) => status === 'fulfilled').length
    const codes = outcomes.flatMap((one) =>
      one.status === 'rejected' ? [(one.reason as { code: unknown }).code] : [],
    )
    expect(codes.filter((code) => code !== 'STALE_TOKEN')).toEqual([])
    expect(await counters.findOne({ _id: 'c' })).toMatchObject({ n: done })
    expect(done).toBeGreaterThan(0)
  })

  it('refuses a token that is lower than what the guard has seen, and does not call the function', async () => {
    const client = connect(server.url)
    const guard = fence(shop(client), { collection: 'stale' })
    await client.withSession((session) =>
      session.withTransaction(() => guard.check(session, 'stale', 2n ** 63n - 1n)),
    )
    let called = false
    const call = memoryLocks().transaction('stale', client, () => void (called = true), { fence: guard })
    expect(await failureOf(call)).toMatchObject({ code: 'STALE_TOKEN' })
    expect(called).toBe(false)
  })

  it.each(['commitTransaction', 'abortTransaction'] as const)(
    'is no success if the function calls %s',
    async (end) => {
      const client = connect(server.url)
      const call = memoryLocks().transaction('ended', shop(client), async (session) => {
        await insert(client, session, 1)
        await session[end]()
      })
      expect(await failureOf(call)).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('was no longer there'),
      })
    },
  )

  it('refuses what the function sends after it has ended', async () => {
    const client = connect(server.url)
    const session = await memoryLocks().transaction('over', shop(client), async (session) => {
      await insert(client, session, 1)
      return session
    })
    expect(await failureOf(insert(client, session, 2))).toMatchObject({ name: 'MongoExpiredSessionError' })
    expect(await stored()).toEqual([1])
  })

  it('reads a snapshot on the primary and commits to a majority, whatever the client does by default', async () => {
    const client = connect(server.url, {
      monitorCommands: true,
      w: 1,
      readPreference: 'secondaryPreferred',
      readConcern: { level: 'available' },
      promoteLongs: false,
    })
    const sent: CommandStartedEvent['command'][] = []
    client.on('commandStarted', ({ command }) => void sent.push(command))
    await memoryLocks().transaction(
      'concerns',
      shop(client),
      async (session) => {
        await insert(client, session, 1)
        expect(await shop(client).collection('writes').countDocuments({}, { session })).toBe(1)
      },
      { lease: '9s' },
    )
    const inside = sent.filter(({ autocommit }) => autocommit === false)
    expect(inside[0]).toMatchObject({ findAndModify: 'holdfast_fence', readConcern: { level: 'snapshot' } })
    expect(inside.at(-1)).toMatchObject({
      commitTransaction: 1,
      writeConcern: { w: 'majority' },
      maxTimeMS: expect.toSatisfy((ms: number) => ms > 5000 && ms <= 6000),
    })
  })

  it('is refused inside of one on the same key, for which it would wait', async () => {
    const client = connect(server.url)
    const locks = memoryLocks()
    const call = locks.transaction('nested', shop(client), () =>
      locks.transaction('nested', shop(client), () => undefined),
    )
    expect(await failureOf(call)).toMatchObject({ code: 'DEADLOCK' })
  })

  it('goes on as usual without a guard', async () => {
    const client = connect(server.url)
    await memoryLocks().transaction('no guard', client, (session) => insert(client, session, 1), {
      fence: false,
    })
    expect(await stored()).toEqual([1])
  })

  it.each([
    ['with the guard', undefined],
    ['without a guard', false],
  ] as const)('is refused by a server that stands alone, %s', async (_, guard) => {
    const alone = await freshMongoDatabase('mongo-standalone')
    const client = connect(alone.url)
    const db = client.db(alone.database)
    const call = memoryLocks().transaction(
      'alone',
      db,
      (session) => db.collection('writes').insertOne({ n: 1 }, { session }),
      { fence: guard },
    )
    expect(await failureOf(call)).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/stands alone.*replica set/),
    })
  })

  it('has no levels of isolation to choose from', async () => {
    const client = connect(server.url)
    const call = memoryLocks().transaction('levels', client, () => undefined, { isolation: 'serializable' })
    expect(await failureOf(call)).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/isolation.*snapshot/),
    })
  })

  it('could not begin on a client that is closed', async () => {
    const client = connect(server.url)
    await client.db().command({ ping: 1 })
    await client.close()
    for (const guard of [undefined, false] as const) {
      const call = memoryLocks().transaction('closed', client, (session) => insert(client, session, 1), {
        fence: guard,
      })
      const failure = await failureOf(call)
      if (guard === undefined) expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
  })
})

it('takes clients of both drivers, and gives their own sessions', () => {
  const [seven, six] = [new MongoClient(server.url), new MongoClient6(server.url)]
  const locks = memoryLocks()
  const typed = (): unknown => [
    locks.transaction('k', seven, (session) => expectTypeOf(session).toEqualTypeOf<ClientSession>()),
    locks.transaction('k', seven.db(), (session) => expectTypeOf(session).toEqualTypeOf<ClientSession>()),
    locks.transaction('k', six, (session) =>
      expectTypeOf(session).toEqualTypeOf<ReturnType<typeof six.startSession>>(),
    ),
    fence(six.db()).check(six.startSession(), 'r', 1n),
    documentFence(six.db().collection<{ n: number }>('c')).update({ n: 1 }, { $set: { n: 2 } }, 1n),
  ]
  expect(typed).toBeTypeOf('function')
})
