import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Fence, fence, type FenceDatabase, type FenceTransaction } from '../../src/fence/index.ts'
import { createLocks, memoryStore } from '../../src/index.ts'
import { startPgBouncer } from '../servers/pgbouncer.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { checksOn, type Stage } from './fence-checks.ts'
import { sessionsThat, WAITING } from '../support/pg-sessions.ts'

const STALE = expect.objectContaining({ code: 'STALE_TOKEN' })

interface Driver {
  readonly db: FenceDatabase
  /** The second argument runs a statement there. */
  transact<T>(
    work: (tx: FenceTransaction, run: (text: string) => Promise<unknown>) => Promise<T>,
    isolation?: string,
  ): Promise<T>
  end(): Promise<void>
}

function usingPg(url: string): Driver {
  const pool = new pg.Pool({ connectionString: url, max: 25 })
  return {
    db: pool,
    async transact(work, isolation = 'read committed') {
      const client = await pool.connect()
      try {
        await client.query(`begin isolation level ${isolation}`)
        const result = await work(client, (text) => client.query(text))
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    end: () => pool.end(),
  }
}

function usingPostgresJs(url: string): Driver {
  // Types and names that would change what is read, if it were not read as text by position.
  const sql = postgres(url, { max: 25, transform: postgres.camel, types: { bigint: postgres.BigInt } })
  return {
    db: sql,
    transact: (work, isolation = 'read committed') =>
      sql.begin(`isolation level ${isolation}`, (tx) =>
        work(tx, async (text) => tx.unsafe(text)),
      ) as Promise<never>,
    end: () => sql.end(),
  }
}

async function usingPgBouncer(url: string): Promise<Driver> {
  const pooler = await startPgBouncer(url, { mode: 'transaction' })
  const inner = usingPg(pooler.url)
  return { ...inner, end: () => inner.end().then(() => pooler.stop()) }
}

let driver: Driver
let guard: Fence

function raise(token: bigint, resource = 'r'): Promise<void> {
  return driver.transact((tx) => guard.check(tx, resource, token))
}

/** Resolves when a statement on the table waits for another transaction. */
async function someoneWaits(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await expect
      .poll(() => sessionsThat(async (text) => (await client.query(text)).rows, WAITING))
      .toBeGreaterThan(0)
  } finally {
    await client.end()
  }
}

describe.each([
  ['pg', usingPg],
  ['postgres.js', usingPostgresJs],
  ['pg and PgBouncer, by transaction', usingPgBouncer],
])('fence on PostgreSQL through %s', (_, connect) => {
  let url: string
  let table: string
  let tables = 0

  beforeAll(async () => {
    url = await freshDatabase()
    driver = await connect(url)
  })
  beforeEach(() => {
    table = `fence_${(tables += 1)}`
    guard = fence(driver.db, { table })
  })
  afterAll(() => driver.end())

  const stage = (): Stage => ({ ...driver, someoneWaits: () => someoneWaits(url) })
  checksOn(stage, () => `fence_${(tables += 1)}`)

  it.each(['repeatable read', 'serializable'])(
    'under %s gives 40001 to the caller as it is, and judges the next attempt',
    async (isolation) => {
      for (const resource of ['new', 'known']) {
        if (resource === 'known') await raise(1n, resource)
        const attempt = driver.transact(async (tx, run) => {
          await run('select 1')
          await raise(9n, resource)
          await guard.check(tx, resource, 5n)
        }, isolation)
        await expect(attempt).rejects.toThrow(expect.objectContaining({ code: '40001' }))
        const again = driver.transact((tx) => guard.check(tx, resource, 5n), isolation)
        await expect(again).rejects.toThrow(STALE)
        await driver.transact((tx) => guard.check(tx, resource, 9n), isolation)
      }
    },
  )

  it('never lets a resource go back, with many writers at once', async () => {
    await driver.transact((_tx, run) => run('create table log (id serial, token bigint)'))
    // There are more transactions than connections: none would be left to create the table.
    await guard.open()
    const tokens = Array.from({ length: 150 }, () => BigInt(1 + Math.floor(Math.random() * 60)))
    const outcomes = await Promise.allSettled(
      tokens.map((token) =>
        driver.transact(async (tx, run) => {
          await guard.check(tx, 'log', token)
          await run(`insert into log (token) values (${token})`)
        }),
      ),
    )
    const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(refused.filter(({ reason }) => reason.code !== 'STALE_TOKEN')).toEqual([])
    const rows = (await driver.transact((_tx, run) =>
      run('select string_agg(token::text, chr(44) order by id) as all from log'),
    )) as { rows?: { all: string }[] } & { all: string }[]
    const written = (rows.rows ?? rows)[0]!.all.split(',').map(Number)
    expect(written).toEqual([...written].sort((a, b) => a - b))
    expect(written).toHaveLength(tokens.length - refused.length)
    expect(refused.length).toBeGreaterThan(0)
  })

  it('forgets while a writer waits for the row, which then starts anew', async () => {
    await raise(9n)
    let waiting: Promise<void> | undefined
    await driver.transact(async (_tx, run) => {
      await run(`delete from ${table}`)
      waiting = raise(3n)
      await someoneWaits(url)
    })
    await waiting
    expect(await guard.highest('r')).toBe(3n)
  })

  it('accepts the newer token of a holder that rotates it, and nothing older from then on', async () => {
    const locks = createLocks(memoryStore(), { lease: '10s' })
    const lease = await locks.acquire('r', { rotateToken: '400ms' })
    const before = lease.token
    await driver.transact((tx) => guard.check(tx, 'r', lease))
    await expect.poll(() => lease.token, { timeout: 10_000 }).toBeGreaterThan(before)
    await raise(before)
    await driver.transact((tx) => guard.check(tx, 'r', lease))
    await expect(raise(before)).rejects.toThrow(STALE)
    await locks.close()
  })
})
