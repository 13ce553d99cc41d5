import type { ClientSession } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { startMongoSet } from '../servers/mongo-set.ts'
import {
  drivers,
  failing,
  insert,
  lost,
  memoryLocks,
  openShop,
  shop,
  warm,
} from '../support/mongo-transaction-stage.ts'
import { atEnd, failureOf, until } from '../support/stage.ts'

const { server, stored } = await openShop()

describe.each(drivers)('a transaction on MongoDB, with $name', ({ connect }) => {
  it.each([
    [
      'a statement conflicts',
      { failCommands: ['insert'], errorCode: 112, errorLabels: ['TransientTransactionError'] },
    ],
    ['the connection is lost in a statement', { failCommands: ['insert'], closeConnection: true }],
    [
      'the check conflicts',
      { failCommands: ['findAndModify'], errorCode: 112, errorLabels: ['TransientTransactionError'] },
    ],
    [
      'COMMIT finds no transaction',
      { failCommands: ['commitTransaction'], errorCode: 251, errorLabels: ['TransientTransactionError'] },
    ],
  ])('is run again from the start, with the same token, if %s', async (_, failure) => {
    const client = connect(server.url)
    const guard = fence(shop(client))
    await guard.open()
    const checked: bigint[] = []
    const counting = {
      check: (tx: ClientSession, resource: string, token: bigint) => {
        checked.push(token)
        return guard.check(tx, resource, token)
      },
    }
    await failing(server, { times: 2, ...failure })
    let runs = 0
    const token = await memoryLocks().transaction(
      'again',
      client,
      async (session, lease) => {
        runs += 1
        await insert(client, session, runs)
        return lease.token
      },
      { fence: counting },
    )
    expect(checked).toEqual([token, token, token])
    expect(await stored()).toEqual([runs])
    expect(runs).toBe(failure.failCommands.includes('findAndModify') ? 1 : 3)
  })

  it.each([
    ['is lost on the way', { closeConnection: true }],
    ['reaches a server that is primary no more', { errorCode: 10107 }],
    [
      'is not known to a majority in time',
      { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } },
    ],
  ])('is committed once, by one run of the function, if COMMIT %s', async (_, failure) => {
    const client = connect(server.url)
    let runs = 0
    await memoryLocks().transaction('commit again', shop(client), async (session) => {
      await insert(client, session, (runs += 1))
      await failing(server, { times: 1, failCommands: ['commitTransaction'], ...failure })
    })
    expect(await stored()).toEqual([1])
  })

  it('is not run again once the lease is lost', async () => {
    const client = connect(server.url)
    await warm(client)
    let runs = 0
    const call = memoryLocks().transaction(
      'lost, then a conflict',
      shop(client),
      async (session, lease) => {
        runs += 1
        await lost(lease)
        await failing(server, {
          failCommands: ['insert'],
          errorCode: 112,
          errorLabels: ['TransientTransactionError'],
        })
        await insert(client, session, 1)
      },
      { lease: '900ms', renew: false },
    )
    expect(await failureOf(call)).toMatchObject({ code: 'LOCK_LOST', cause: { code: 112 } })
    expect(runs).toBe(1)
  })

  it('waits for a transaction that has the document of the guard, for as long as it has the lease', async () => {
    const client = connect(server.url)
    const guard = fence(shop(client), { collection: 'busy' })
    let checks = 0
    const counting = {
      check: (tx: ClientSession, resource: string, token: bigint) => {
        checks += 1
        return guard.check(tx, resource, token)
      },
    }
    await guard.forget('busy')
    await client.withSession(async (session) => {
      session.startTransaction()
      await guard.check(session, 'busy', 1n)
      const short = { fence: guard, lease: '900ms', renew: false } as const
      const vain = memoryLocks().transaction('busy', client, () => undefined, short)
      expect(await failureOf(vain)).toMatchObject({
        code: 'LOCK_LOST',
        message: expect.stringContaining('rolled back'),
      })
      const patient = { fence: counting, lease: '20s' } as const
      const call = memoryLocks().transaction('busy', client, (session) => insert(client, session, 1), patient)
      await until('some attempts', () => checks > 3)
      await session.abortTransaction()
      await call
    })
    expect(await stored()).toEqual([1])
  })
})

describe.each(drivers)('a transaction on a replica set, with $name', ({ connect }) => {
  it('is run again on the next primary if the one before steps down or dies before COMMIT', async () => {
    const set = await startMongoSet()
    atEnd(() => set.stop())
    const client = connect(set.url)
    const db = shop(client)
    const writes = db.collection('writes')
    const locks = memoryLocks()
    const faults = [() => set.stepDown(), async () => (await set.primary()).kill()]
    for (const [index, fault] of faults.entries()) {
      const tokens: bigint[] = []
      await locks.transaction('failed over', db, async (session, lease) => {
        await writes.insertOne({ n: index }, { session })
        if (tokens.push(lease.token) === 1) await fault()
      })
      // Once more for each election: a slow machine may need another.
      expect(tokens.length).toBeGreaterThan(1)
      expect(new Set(tokens).size).toBe(1)
    }
    const found = await writes.find({}, { readPreference: 'primary' }).sort({ n: 1 }).toArray()
    expect(found.map(({ n }) => n as unknown)).toEqual([0, 1])
  })
})
