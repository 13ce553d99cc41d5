import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { atEnd, drivers, memoryLocks, observe, until } from '../support/transaction-stage.ts'
import type { Tx } from '../support/transaction-drivers.ts'
import { sessionsThat } from '../support/pg-sessions.ts'

const url = await freshDatabase()
const observer = await observe(url)

/** Node tells of each only once, so that one test may warn for those behind it. */
const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))

const ofPg = drivers.filter(({ name }) => name !== 'postgres.js')

beforeEach(() => observer.run('truncate t'))

/** Resolves when they are sent: postgres.js takes its time. Nobody waits for their answers. */
async function sleep(tx: Tx, count: number, s: number): Promise<void> {
  for (let n = 0; n < count; n += 1) tx.run(`select pg_sleep(${s})`).catch(() => undefined)
  await pause(20)
}

describe.each(ofPg)('a transaction on $name whose function ends with its lease', (driver) => {
  it.each([1, 2])(
    'while statements run, %d of them: pg, which will no longer keep a queue, is given nothing to put into it',
    async (count) => {
      const opened = await driver.open(url, 2)
      const locks = memoryLocks()
      const call = locks.using('key', { lease: 9000 }, (outer) =>
        opened.transaction(locks, 'key', async (tx, lease) => {
          await tx.run('insert into t values (1)')
          await sleep(tx, count, 0.7)
          const lost = once(lease.signal, 'abort')
          await locks.forceRelease('key')
          await outer.extend().catch(() => undefined)
          await lost
        }),
      )
      await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      expect(warnings).toEqual([])
      expect(await observer.rows()).toEqual([])
      await opened.transaction(locks, 'key', (tx) => tx.run('select 1'))
    },
  )
})

describe.each(drivers)('COMMIT on $name behind what the function did not wait for', (driver) => {
  it('is sent when that has been answered', async () => {
    const opened = await driver.open(url, 2)
    await opened.transaction(memoryLocks(), 'key', async (tx) => {
      const sent = sleep(tx, 1, 0.2)
      void tx.run('insert into t values (1)')
      await sent
    })
    expect(await observer.rows()).toEqual([1])
    expect(warnings).toEqual([])
  })

  it('is not sent if the lease is lost meanwhile: LOCK_LOST', async () => {
    const opened = await driver.open(url, 2)
    const locks = memoryLocks()
    const call = locks.using('key', { lease: 9000 }, (outer) =>
      opened.transaction(locks, 'key', async (tx) => {
        await tx.run('insert into t values (1)')
        await sleep(tx, 1, 2.5)
        void pause(1).then(async () => {
          await locks.forceRelease('key')
          await outer.extend().catch(() => undefined)
        })
      }),
    )
    await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST', message: /rolled back/ })
    expect(await observer.rows()).toEqual([])
    // The connection is as good as before.
    await opened.transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'))
    expect(await observer.rows()).toEqual([2])
    expect(warnings).toEqual([])
  })

  it('is not sent if the connection is lost meanwhile', async () => {
    const opened = await driver.open(url, 2)
    const call = opened.transaction(memoryLocks(), 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await sleep(tx, 2, 5)
      const busy = `select pid from pg_stat_activity
        where datname = current_database() and state = 'active' and query like 'select pg_sleep(5)%'`
      void until('it to run', async () => (await observer.run(busy)).length > 0).then(() =>
        observer.run(`select pg_terminate_backend(pid) from (${busy}) as them`),
      )
    })
    await expect(call).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcomeUnknown: false,
      message: expect.stringMatching(/was lost before COMMIT/),
    })
    expect(await observer.rows()).toEqual([])
  })
})

// The last, since its own function gives pg a queue, of which it warns.
describe.each(drivers)('COMMIT on $name behind more than that', (driver) => {
  it('is not sent if that takes as long as the lease was: no unknown outcome', async () => {
    const opened = await driver.open(url, 2)
    const call = opened.transaction(
      memoryLocks(),
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        // Each of them keeps to the limit of a statement, also on a busy machine.
        await sleep(tx, 8, 1)
      },
      { lease: 6000 },
    )
    await expect(call).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcomeUnknown: false,
      message: expect.stringMatching(/could not be committed, and is rolled back: a statement that was not/),
    })
    expect(await observer.rows()).toEqual([])
  })
})

describe('a statement that pg waits for no longer than its `query_timeout`', () => {
  it.each([
    ['of the pool', { query_timeout: 300 }, undefined],
    ['of the query', {}, 300],
  ])('%s: nothing is stored, though its function has hidden that', async (_, options, query_timeout) => {
    const pool = new pg.Pool({ connectionString: url, max: 1, ...options })
    atEnd(() => pool.end())
    const call = memoryLocks().transaction(
      'key',
      pool,
      async (tx) => {
        await tx.query('insert into t values (1)')
        const slow = { text: 'insert into t select 2 from pg_sleep(1)', query_timeout }
        await tx.query(slow as pg.QueryConfig).catch(() => undefined)
        await tx.query('insert into t values (3)').catch(() => undefined)
      },
      { lease: 9000 },
    )
    await expect(call).rejects.toThrow('Query read timeout')
    const busy = "backend_type = 'client backend' and state <> 'idle'"
    await until('its end', async () => (await sessionsThat(observer.run, busy)) === 0)
    expect(await observer.rows()).toEqual([])
    expect((await pool.query('select 7 as n')).rows).toEqual([{ n: 7 }])
  })
})
