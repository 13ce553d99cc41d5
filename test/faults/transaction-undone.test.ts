import pg from 'pg'
import postgres from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { Interruption, WHICH } from '../../src/transaction/undo.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { atEnd, drivers, failureWithin, memoryLocks, observe, until } from '../support/transaction-stage.ts'
import type { Tx } from '../support/transaction-drivers.ts'
import { ASLEEP, sessionsThat, WAITING } from '../support/pg-sessions.ts'

const LEASE = { lease: 3000, renew: false } as const
const LOST = { code: 'LOCK_LOST', message: expect.stringMatching(/rolled back/) }

const url = await freshDatabase()
const observer = await observe(url)

beforeEach(() => observer.run('truncate t'))

/** Whether nobody has a lock on table t. */
async function isFree(): Promise<boolean> {
  const rows = await observer.run("select 1 from pg_locks where relation = 't'::regclass")
  return rows.length === 0
}

/** Pauses would be ended by the server, before the lease is. */
async function busyUntil(tx: Tx, over: () => boolean): Promise<void> {
  while (!over()) {
    await tx.run('select 1').catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** What the lost one does until the test lets it end. */
function stay(): { over: Promise<void>; end: () => void } {
  let end!: () => void
  const over = new Promise<void>((resolve) => (end = resolve))
  atEnd(end)
  return { over, end }
}

/** When the next holder was inside, in ms after its grant. */
async function nextGetsIn(locks: Locks, transaction: (key: string, body: () => void) => Promise<unknown>) {
  let [granted, inside] = [0, Number.NaN]
  locks.on('granted', () => (granted = performance.now()))
  await transaction('key', () => (inside = performance.now() - granted))
  return inside
}

describe.each(drivers)('a transaction on $name whose lease is lost', (driver) => {
  it.each(['between two statements', 'inside of a savepoint', 'after a statement that failed'])(
    '%s is undone at once, though its function goes on: the next holder gets in at its grant',
    async (where) => {
      const opened = await driver.open(url, 2)
      const locks = memoryLocks()
      await opened.transaction(locks, 'key', () => undefined)
      const { over, end } = stay()
      const after: unknown[] = []
      const first = opened.transaction(locks, 'key', async (tx) => {
        await tx.run('insert into t values (1)')
        if (where === 'inside of a savepoint') await tx.run('savepoint s')
        if (where === 'after a statement that failed') await tx.run('select 1 / 0').catch(() => undefined)
        await locks.forceRelease('key')
        await until('it to be undone', isFree)
        await over
        await tx.run('insert into t values (2)').catch((error: unknown) => after.push(error))
      })
      first.catch(() => undefined)
      const others = driver.pooled ? opened : await driver.open(url)
      const wait = nextGetsIn(locks, (key, body) =>
        others.transaction(locks, key, body, { wait: '10s', lease: 9000 }),
      )
      // Else it would wait for the function of the first, for ever.
      expect(await wait).toBeLessThan(2000)
      end()
      await expect(first).rejects.toMatchObject(LOST)
      expect(after).toMatchObject([{ code: 'LOCK_LOST' }])
      expect(await observer.run('select n from t')).toEqual([])
      // The connection is as good as before.
      await opened.transaction(locks, 'key', (tx) => tx.run('insert into t values (3)'))
      expect(await observer.run('select n from t')).toEqual([{ n: 3 }])
    },
  )

  it("with an error of its function's own rejects with that", async () => {
    const opened = await driver.open(url, 2)
    const own = new Error('own')
    const locks = memoryLocks()
    const call = opened.transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await locks.forceRelease('key')
      throw own
    })
    await expect(call).rejects.toBe(own)
    expect(await isFree()).toBe(true)
  })

  it('while the check waits for the row of the guard: LOCK_LOST, and not a word about that row', async () => {
    const opened = await driver.open(url, 2)
    const locks = memoryLocks()
    await opened.transaction(locks, 'key', () => undefined)
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    atEnd(() => other.end())
    await other.query("begin; select * from holdfast_fence where resource = 'key' for update")
    const call = locks.using('key', { lease: 4500 }, async (lease) => {
      const inner = opened.transaction(locks, 'key', () => undefined)
      inner.catch(() => undefined)
      await until('the check to wait', () => sessionsThat(observer.run, WAITING))
      await locks.forceRelease('key')
      await lease.extend().catch(() => undefined)
      return inner
    })
    await expect(call).rejects.toMatchObject({ ...LOST, cause: { code: '57014' } })
  })

  it('while a check is not answered at all: LOCK_LOST as well', async () => {
    const opened = await driver.open(url)
    const fence = { check: () => new Promise<void>(() => undefined) }
    // To connect is no part of the lease, which is short.
    await opened.transaction(memoryLocks(), 'key', () => undefined, { fence: false })
    const call = opened.transaction(memoryLocks(), 'key', () => undefined, { ...LEASE, fence })
    await expect(call).rejects.toMatchObject({ ...LOST, cause: { name: 'TimedOut' } })
  })

  it('while its client is being closed is undone as well', async () => {
    const opened = await driver.open(url, 2)
    const locks = memoryLocks()
    const { over, end } = stay()
    let [inside, lost] = [false, false]
    const first = opened.transaction(
      locks,
      'key',
      async (tx, lease) => {
        await tx.run('insert into t values (1)')
        inside = true
        await busyUntil(tx, () => !lease.held)
        lost = true
        await over
      },
      { ...LEASE, lease: 6000 },
    )
    await until('it to be inside', () => inside)
    first.catch(() => undefined)
    const closing = locks.close()
    await until('the loss', () => lost)
    // Before the server ends the pause: that may take a third of the lease.
    await until('it to be undone', isFree, 1500)
    end()
    await expect(first).rejects.toMatchObject({ code: 'LOCK_LOST' })
    await closing
  })
})

describe.each(drivers.filter(({ pooled }) => pooled))('a statement on $name', (driver) => {
  it('that runs when the lease is lost is interrupted: the next holder gets in at its grant', async () => {
    const opened = await driver.open(url, 3)
    const locks = memoryLocks()
    await opened.transaction(locks, 'key', () => undefined)
    const first = opened.transaction(
      locks,
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        await tx.run('select pg_sleep(10)')
      },
      { lease: 9000 },
    )
    const failure = first.catch((error: unknown) => error)
    await until('it to sleep', () => sessionsThat(observer.run, ASLEEP))
    const wait = nextGetsIn(locks, (key, body) =>
      opened.transaction(locks, key, body, { wait: '10s', lease: 9000 }),
    )
    await locks.forceRelease('key')
    // Else it would wait for the limit of the statement, a third of the lease.
    expect(await wait).toBeLessThan(1500)
    expect(await failure).toMatchObject(LOST)
    expect(await observer.run('select n from t')).toEqual([])
  })

  it('on the only connection ends by its limit, and the call after it works', async () => {
    const opened = await driver.open(url, 1)
    const locks = memoryLocks()
    await opened.transaction(locks, 'key', () => undefined)
    const call = opened.transaction(
      locks,
      'key',
      async (tx, lease) => {
        await busyUntil(tx, () => lease.remainingMs < 700)
        await tx.run('select pg_sleep(10)')
      },
      { ...LEASE, lease: 4500 },
    )
    await expect(call).rejects.toMatchObject(LOST)
    await opened.transaction(locks, 'key', (tx) => tx.run('insert into t values (1)'))
    expect(await observer.run('select n from t')).toEqual([{ n: 1 }])
  })
})

it('what is interrupted is that transaction, and not the next one on its connection', async () => {
  const pool = new pg.Pool({ connectionString: url })
  atEnd(() => pool.end())
  const client = await pool.connect()
  const begin = async (): Promise<unknown> => {
    await client.query('begin')
    return (await client.query(`select ${WHICH} as id`)).rows[0].id
  }
  const sleep = (s: number): Promise<unknown> =>
    client.query(`select pg_sleep(${s})`).catch((error: unknown) => error)
  const old = await begin()
  await client.query('commit')
  const present = await begin()
  const [next] = await Promise.all([sleep(0.3), new Interruption(pool, old).tried])
  expect(next).not.toBeInstanceOf(Error)
  const sleeping = sleep(10)
  // What has not begun cannot be cancelled.
  await until('it to sleep', () => sessionsThat(observer.run, ASLEEP))
  await new Interruption(pool, present).tried
  expect(await sleeping).toMatchObject({ code: '57014' })
  client.release(true)
})

describe('what a function sends past `tx` when its lease is lost', () => {
  it('on its own client of pg fails, rather than being stored by itself', async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    atEnd(() => client.end())
    const locks = memoryLocks()
    const call = locks.transaction('key', client, async (tx) => {
      await tx.query('insert into t values (1)')
      await locks.forceRelease('key')
      await until('it to be undone', isFree)
      await client.query('insert into t values (2)').catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject(LOST)
    expect(await observer.run('select n from t')).toEqual([])
  })

  it.each([null, new Error('own')])(
    'by a savepoint of postgres.js stays on its connection: %s',
    async (own) => {
      const sql = postgres(url, { max: 1, onnotice: () => undefined, fetch_types: false })
      atEnd(() => sql.end({ timeout: 0 }))
      const locks = memoryLocks()
      const call = locks.transaction('key', sql, (tx) =>
        tx.savepoint(async (inner) => {
          await inner`insert into t values (1)`
          await locks.forceRelease('key')
          await until('it to be undone', isFree)
          if (own) throw own
          await inner`insert into t values (2)`
        }),
      )
      if (own) await expect(call).rejects.toBe(own)
      else await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      await sql`insert into t values (3)`
      expect(await observer.run('select n from t')).toEqual([{ n: 3 }])
    },
  )

  it('by a savepoint of postgres.js whose function hides what was interrupted: LOCK_LOST', async () => {
    const sql = postgres(url, { max: 2, onnotice: () => undefined, fetch_types: false })
    atEnd(() => sql.end({ timeout: 0 }))
    const locks = memoryLocks()
    const call = locks.transaction('key', sql, (tx) =>
      tx.savepoint((inner) => inner`select pg_sleep(9)`.catch(() => undefined)),
    )
    call.catch(() => undefined)
    await until('it to sleep', () => sessionsThat(observer.run, ASLEEP))
    await locks.forceRelease('key')
    expect(await failureWithin(5000, call)).toMatchObject(LOST)
  })
})
