import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { disguised } from '../support/mysql-client.ts'
import { atEnd, failureOf, locksOn, mariadbPoolOn, observe, poolOn, storeOn } from '../support/mysql-stage.ts'

const url = await freshMariadbDatabase()
const look = observe(url)

/** What a user may have set for the sessions of his pool. None of it is for the locks to follow. */
const settings: readonly string[][] = [
  [`time_zone = '+13:00'`],
  [`time_zone = '-11:30'`],
  [`sql_mode = ''`],
  [`sql_mode = 'ANSI'`],
  [`sql_mode = 'TRADITIONAL,ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE'`],
  [`sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL'`],
  [`sql_mode = 'MSSQL,PAD_CHAR_TO_FULL_LENGTH,NO_ZERO_DATE,NO_UNSIGNED_SUBTRACTION'`],
  [`sql_mode = 'SIMULTANEOUS_ASSIGNMENT'`],
  ['autocommit = 0'],
  ['autocommit = 0', `tx_isolation = 'SERIALIZABLE'`],
  [`tx_isolation = 'READ-UNCOMMITTED'`],
  [`tx_isolation = 'SERIALIZABLE'`],
  [`character_set_client = latin1`, `character_set_connection = latin1`, `character_set_results = latin1`],
  [`collation_connection = utf8mb4_bin`, `sql_safe_updates = 1`, `sql_select_limit = 1000`],
  [`completion_type = 'CHAIN'`],
]

const HOSTILE = [
  `q'"\`\\`,
  'trailing ',
  'trailing',
  'Case',
  'case',
  '日本 🔒 ?',
  'é',
  'e\u0301',
  '%_',
  ':a $1 ?',
]

/** All that a client asks of a store, on keys that need care. */
async function cycle(store: Store, other: Store, tag: string): Promise<void> {
  const holder = { service: `s'"\\?`, instance: '日本 🔒', context: '{"a":"\\\\"}' }
  const asks = HOSTILE.map((key) => askFor(`${tag}${key}`, { holder, leaseMs: 5000 }))
  const before = Date.now()
  const grants = await store.acquire(asks)
  for (const grant of grants) {
    const { grant: number } = grant as { grant: number }
    // The clock of this machine is also that of the server.
    expect(Math.abs(number / 1000 - before)).toBeLessThan(5000)
  }
  const again = (await store.acquire(asks)) as readonly unknown[]
  expect(again).toEqual(grants)
  const [first] = asks as [(typeof asks)[0]]
  const denied = await acquire(other, askFor(first.key))
  expect(denied).toMatchObject({ granted: false, holder })
  expect((denied as { retryInMs: number }).retryInMs).toBeGreaterThan(1000)
  expect((denied as { retryInMs: number }).retryInMs).toBeLessThanOrEqual(5000)
  const raised = (grants[0] as { grant: number }).grant + 1_000_000_000
  expect(await store.renew([{ ...first, raiseTo: raised }])).toEqual([{ renewed: true, grant: raised }])
  const { locks } = await other.list({ prefix: tag, limit: 100 })
  expect(locks.map(({ key }) => key).sort()).toEqual(asks.map(({ key }) => key).sort())
  const page = await other.list({ prefix: tag, limit: 3 })
  expect(page).toMatchObject({ locks: { length: 3 }, next: page.locks[2]?.key })
  expect(await store.release(asks)).toEqual(asks.map((_, index) => ({ released: true, wanted: index === 0 })))
  expect(await store.release(asks)).toEqual(asks.map(() => ({ released: false, wanted: false })))
  const next = askFor(first.key)
  expect(await grantOf(other, next)).toBe(raised + 1)
  expect(await store.evict(first.key, raised)).toBeNull()
  expect(await store.evict(first.key, raised + 1)).toMatchObject({ key: first.key, grant: raised + 1 })
  expect(await store.renew([next])).toEqual([{ renewed: false }])
}

describe.each(settings.map((setting, index) => [setting.join(', '), setting, `${index}:`] as const))(
  'sessions with %s',
  (_name, setting, tag) => {
    it('lock, look, renew, release and evict as all others do', async () => {
      const plain = storeOn(url)
      const clients = [
        poolOn(url, { connectionLimit: 2, supportBigNumbers: true, bigNumberStrings: true }, [...setting]),
        mariadbPoolOn(url, { connectionLimit: 2, bigIntAsNumber: true }, [...setting]),
        // MySQL knows no modes that change the order of assignments, or what an empty text is.
        ...(/SIMULTANEOUS|ORACLE/.test(setting.join()) ? [] : [disguised(poolOn(url, {}, [...setting]))]),
      ]
      for (const [index, client] of clients.entries()) {
        const store = storeOn(client)
        await cycle(store, plain, `${tag}${index}:`)
      }
    })
  },
)

it("a pool that casts all that it reads does not cast what is holdfast's", async () => {
  const casts: string[] = []
  const typeCast = ({ type }: { type: string }): string => `cast ${casts.push(type)}`
  const pools = {
    mysql2: poolOn(url, { typeCast }),
    mariadb: mariadbPoolOn(url, { typeCast, connectionLimit: 2 }),
  }
  for (const [driver, pool] of Object.entries(pools)) {
    const store = storeOn(pool)
    await cycle(store, store, `${driver} casts:`)
  }
  expect(casts).toEqual([])
  expect((await pools.mysql2.query('select 1 as n'))[0]).toEqual([{ n: 'cast 1' }])
  expect(await pools.mariadb.query('select 1 as n')).toEqual([{ n: 'cast 2' }])
})

it('what the session has set is left as it was', async () => {
  const pool = poolOn(url, { connectionLimit: 1 }, [
    `sql_mode = 'ANSI'`,
    'autocommit = 0',
    'max_statement_time = 77',
  ])
  const store = storeOn(pool)
  await cycle(store, store, 'left:')
  const [rows] = await pool.query(
    `select concat_ws(' ', @@autocommit + 0, @@max_statement_time, @@in_transaction) as s`,
  )
  expect(rows).toEqual([{ s: '0 77.000000 0' }])
})

describe('a lock is not granted inside of a transaction of the user', () => {
  it('on a connection that a pool got back in the middle of one: that is rolled back, and the lock lasts', async () => {
    await look('create table if not exists mine (n int)')
    const pool = poolOn(url, { connectionLimit: 1 })
    const store = storeOn(pool)
    await grantOf(store, askFor('before'))
    const connection = await pool.getConnection()
    await connection.beginTransaction()
    await connection.query('insert into mine values (1)')
    connection.release()
    const ask = askFor('in the middle')
    await grantOf(store, ask)
    expect((await storeOn(url).list({ key: ask.key, limit: 1 })).locks).toHaveLength(1)
    expect(await look('select * from mine')).toEqual([])
  })

  it.each(['mysql2', 'mariadb'])(
    'on his own connection of %s: it is refused, and goes on after that',
    async (driver) => {
      const connection =
        driver === 'mysql2' ? await poolOn(url).getConnection() : await mariadbPoolOn(url).getConnection()
      const store = mysqlStore(connection)
      await grantOf(store, askFor(`own before ${driver}`))
      await connection.beginTransaction()
      expect(await failureOf(store.acquire([askFor(`own ${driver}`)]))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('inside a transaction of yours'),
      })
      await connection.rollback()
      await grantOf(store, askFor(`own ${driver}`))
      await store.close()
      await connection.release()
    },
  )
})

it('a row that is locked for too long costs one step, also of his own connection that commits nothing by itself', async () => {
  const connection = await poolOn(url).getConnection()
  await connection.query('set autocommit = 0')
  const store = mysqlStore(connection)
  const ask = askFor('row in use')
  await grantOf(store, ask)
  const other = await poolOn(url).getConnection()
  await other.beginTransaction()
  await other.query('select * from holdfast_locks for update')
  expect(await failureOf(store.release([ask]))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.not.stringContaining('transaction of yours'),
  })
  await other.rollback()
  expect(await store.release([ask])).toEqual([{ released: true, wanted: false }])
  await store.close()
  connection.release()
  other.release()
})

describe('every client that mysql2 and mariadb have', () => {
  it('a connection and a pool with callbacks, and a URL of either scheme', async () => {
    const { createConnection, createPool } = await import('mysql2')
    const connection = createConnection(url)
    const pool = createPool(url)
    atEnd(() => connection.destroy())
    atEnd(() => pool.promise().end())
    const clients = [connection, pool, url, url.replace('mysql:', 'mariadb:')]
    for (const [index, client] of clients.entries()) {
      const store = storeOn(client)
      await Promise.all([1, 2, 3].map((n) => cycle(store, store, `${index}.${n}:`)))
    }
  })

  it('a client of something else is refused at once, and so is a wrong URL or option', async () => {
    for (const wrong of [{}, null, { query() {} }, 'mysql://host', 'postgres://host/db', 'mysql://a b/c']) {
      expect(() => mysqlStore(wrong as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    }
    for (const options of [
      { table: 'a`b' },
      { database: '1a' },
      { keep: '1s' },
      { create: 1 },
      { listen: true },
    ]) {
      expect(() => mysqlStore(url, options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION' }),
      )
    }
  })
})

it('the statistics tell of the connections of mariadb, and of no others', async () => {
  const pool = mariadbPoolOn(url, { connectionLimit: 1 })
  const locks = locksOn(storeOn(pool))
  await locks.using('pool', () => undefined)
  expect(locks.stats().pool).toEqual({ open: 1, idle: 1, waiting: 0 })
  const own = await pool.getConnection()
  const call = locks.acquire('pool')
  await expect.poll(() => locks.stats().pool).toEqual({ open: 1, idle: 0, waiting: 1 })
  await own.release()
  expect((await call).held).toBe(true)
  const other = locksOn(storeOn(poolOn(url)))
  await other.using('pool of mysql2', () => undefined)
  expect(other.stats().pool).toBeNull()
})
