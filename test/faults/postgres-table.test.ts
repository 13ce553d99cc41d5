import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { postgresSql } from '../../src/stores/postgres/index.ts'
import { createScript } from '../../src/stores/postgres/schema.ts'
import { startPostgres } from '../servers/postgres.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atEnd,
  failureOf,
  failureWithin,
  locksOn,
  observe,
  poolOn,
  storeOn,
  until,
} from '../support/postgres-stage.ts'
import { sessionsThat } from '../support/pg-sessions.ts'

const url = await freshDatabase()
const query = observe(url)

beforeEach(() => query('drop table if exists holdfast_locks'))

describe.each(everyClient)('the table of $name', (client) => {
  it('G3 G7 is dropped while locks are held: the next call makes it again, and tokens rise', async () => {
    const locks = locksOn(storeOn(await client.open(url)))
    const held = await locks.acquire('held')
    const lease = await locks.acquire('key')
    await lease.release()
    await query('drop table holdfast_locks')
    expect((await locks.acquire('key')).token).toBeGreaterThan(lease.token)
    // Its record is gone, and whoever asks next gets the key: that is what it must be told.
    expect(await failureOf(held.extend())).toMatchObject({ code: 'LOCK_LOST' })
    expect(held.held).toBe(false)
    expect(await held.release()).toBe(false)
    // Also when the schema goes with it.
    const apart = locksOn(storeOn(await client.open(url), { schema: 'apart' }))
    const before = await apart.acquire('key')
    await before.release()
    await query('drop schema apart cascade')
    expect((await apart.acquire('key')).token).toBeGreaterThan(before.token)
    await apart.close()
    await query('drop schema apart cascade')
  })

  it.each([{}, { schema: 'dba', table: 'locks_of_app' }])(
    'is for someone else to create, %o: an error shows the SQL, and works once it is run',
    async (names) => {
      const locks = locksOn(storeOn(await client.open(url), { ...names, create: false }))
      const sql = postgresSql(names)
      const error = await failureOf(locks.tryAcquire('key'))
      expect(error.code).toBe('STORE_UNAVAILABLE')
      expect(error.message.endsWith(sql.trim())).toBe(true)
      await query(sql)
      const lease = await locks.acquire('key')
      // Running it again changes nothing.
      await query(sql)
      expect(await lease.release()).toBe(true)
      // Dropped while running.
      await query(`drop table ${names.schema ?? 'public'}.${names.table ?? 'holdfast_locks'}`)
      const again = await failureOf(locks.tryAcquire('key'))
      expect(again).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(again.message).toContain(sql.trim())
      await query(sql)
      expect((await locks.acquire('key')).token).toBeGreaterThan(lease.token)
      await locks.close()
      if (names.schema) await query('drop schema dba cascade')
    },
  )

  it('G7 is locked by somebody for long: calls fail in time and say so, and work again after that', async () => {
    const store = storeOn(await client.open(url))
    await grantOf(store, askFor('key'))
    const session = new pg.Client({ connectionString: url })
    await session.connect()
    try {
      await session.query("begin; select 1 from holdfast_locks where key = 'key' for update")
      expect(await failureWithin(3500, store.evict('key'))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/stays locked; look in pg_stat_activity/),
      })
      // Other rows are free meanwhile.
      await grantOf(store, askFor('other'))
      await session.query('rollback; begin; lock table holdfast_locks')
      const refused = failureWithin(3500, store.release([askFor('other')]))
      expect(await refused).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    } finally {
      await session.end()
    }
    expect(await store.evict('key')).not.toBeNull()
  })
})

it('a table made by hand whose keys are compared as a person would is refused: it takes different keys for one', async () => {
  await query(`create collation if not exists without_case
    (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
  await query(postgresSql().replace('key text collate "C"', 'key text collate without_case'))
  const refused = storeOn(url)
  expect(await failureOf(refused.open())).toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(
      /column key should be text collate "C".*name another table[^]*create table/,
    ),
  })
  await query('alter table holdfast_locks alter column key type text collate "C"')
  await refused.open()
  await Promise.all(['key', 'KEY'].map((key) => grantOf(refused, askFor(key))))
})

it('a schema that several find dropped, and one of them creates before the others: nobody fails', async () => {
  const [one, two] = [storeOn(url, { schema: 'twice' }), storeOn(url, { schema: 'twice' })]
  await Promise.all([one.open(), two.open()])
  await query('drop schema twice cascade')
  // Both have seen that it is gone, and wait for their turn to create it.
  const script = createScript({ schema: 'twice', table: 'holdfast_locks' }, true)
  const turn = script.split(';').find((statement) => statement.includes('advisory'))
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  try {
    await session.query(`begin; ${turn}`)
    const grants = Promise.all([one, two].map((store, i) => grantOf(store, askFor(`key ${i}`))))
    await until('both to wait', async () => (await sessionsThat(query, "wait_event = 'advisory'")) === 2)
    await session.query('commit')
    await grants
  } finally {
    await session.end()
  }
})

describe.each(['serializable', 'repeatable read'])('a database whose default is %s', (isolation) => {
  it.each(everyClient)('G1 on $name: conflicts are retried inside, no call fails', async (client) => {
    const strict = await freshDatabase()
    await observe(strict)(`alter database "${new URL(strict).pathname.slice(1)}"
      set default_transaction_isolation = '${isolation}'`)
    const all = await Promise.all(
      [1, 2, 3].map(async () => locksOn(storeOn(await client.open(strict)), { poll: { min: 5, max: 20 } })),
    )
    let inside = 0
    await Promise.all(
      all.flatMap((locks) =>
        Array.from({ length: 20 }, (_, i) =>
          locks.using(i % 2 ? 'one' : `of ${i}`, { wait: '30s' }, async ({ key }) => {
            if (key !== 'one') return
            inside += 1
            expect(inside).toBe(1)
            await new Promise((resolve) => setImmediate(resolve))
            inside -= 1
          }),
        ),
      ),
    )
    expect(all.map((locks) => locks.stats().storeFailures)).toEqual([0, 0, 0])
  })
})

it('the statistics tell of the connections of a pool of pg, of one that a URL opened too, and of no others', async () => {
  const pool = poolOn(url, { max: 1 })
  const locks = locksOn(storeOn(pool, { listen: false }))
  await locks.using('pool', () => undefined)
  expect(locks.stats().pool).toEqual({ open: 1, idle: 1, waiting: 0 })
  const own = await pool.connect()
  const call = locks.acquire('pool')
  await expect.poll(() => locks.stats().pool).toEqual({ open: 1, idle: 0, waiting: 1 })
  own.release()
  expect((await call).held).toBe(true)

  const byUrl = locksOn(storeOn(url))
  expect(byUrl.stats().pool).toBeNull()
  await byUrl.using('pool of a URL', () => undefined)
  expect(byUrl.stats().pool?.open).toBeGreaterThan(0)
})

it('locks on known keys touch no index: its only one is the primary key, and nearly all updates are HOT', async () => {
  // Of its own: a transaction that stays open in another database keeps the pages here from being cleaned up.
  const server = await startPostgres()
  atEnd(() => server.stop())
  const own = observe(server.url)
  const pool = poolOn(server.url)
  const locks = locksOn(storeOn(pool, { listen: false }))
  const keys = Array.from({ length: 20 }, (_, i) => `hot ${i}`)
  const rounds = 100
  await Promise.all(
    keys.map(async (key) => {
      for (let round = 0; round < rounds; round += 1) await locks.using(key, () => undefined)
    }),
  )
  await locks.close()
  // A session tells its figures at its end, if not before.
  await pool.end()
  const figures = async (): Promise<{ updates: number; hot: number }> => {
    const [row] = await own(`select n_tup_upd::int as updates, n_tup_hot_upd::int as hot
      from pg_stat_user_tables where relname = 'holdfast_locks'`)
    return row as { updates: number; hot: number }
  }
  // Each lock and each release, but for the first lock, which inserts.
  const all = (2 * rounds - 1) * keys.length
  await until('the figures', async () => (await figures()).updates >= all)
  const { updates, hot } = await figures()
  expect(hot / updates).toBeGreaterThan(0.9)
  const indexes = await own("select indexname from pg_indexes where tablename = 'holdfast_locks'")
  expect(indexes).toEqual([{ indexname: 'holdfast_locks_pkey' }])
})
