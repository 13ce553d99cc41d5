import mysql from 'mysql2/promise'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type Fence,
  fence,
  type FenceDatabase,
  fenceSql,
  type FenceTransaction,
} from '../../src/fence/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { disguised, rewriting } from '../support/mysql-client.ts'
import { atEnd, mariadbPoolOn, observe, poolOn, someoneWaits } from '../support/mysql-stage.ts'
import { checksOn } from './fence-checks.ts'

const STALE = expect.objectContaining({ code: 'STALE_TOKEN' })
const url = await freshMariadbDatabase()
const look = observe(url)

interface Connection {
  beginTransaction(): Promise<unknown>
  query(sql: string): Promise<unknown>
  commit(): Promise<unknown>
  rollback(): Promise<unknown>
  release(): unknown
}
type Take = () => Promise<Connection & FenceTransaction>

const drivers: Record<string, () => { db: FenceDatabase; take: Take }> = {
  // Options that would change what is read, if it were not read as text by position.
  mysql2: () => {
    const pool = poolOn(url, { supportBigNumbers: true, bigNumberStrings: true, nestTables: true as never })
    return { db: pool, take: () => pool.getConnection() as never }
  },
  'mysql2 on what says to be MySQL': () => {
    const pool: mysql.Pool = disguised(poolOn(url))
    return { db: pool, take: () => pool.getConnection() as never }
  },
  mariadb: () => {
    const pool = mariadbPoolOn(url, { bigIntAsNumber: true, metaAsArray: true, connectionLimit: 10 })
    return { db: pool, take: () => pool.getConnection() as never }
  },
}

describe.each(Object.keys(drivers))('a guard in MariaDB, asked through %s', (name) => {
  let db: FenceDatabase
  let take: Take
  let guard: Fence
  let table: string
  let tables = 0

  beforeEach(() => {
    ;({ db, take } = drivers[name]!())
    tables += 1
    table = `fence_${name.length}_${tables}`
    guard = fence(db, { table })
  })

  async function transact<T>(work: (tx: Connection & FenceTransaction) => Promise<T>): Promise<T> {
    const connection = await take()
    try {
      await connection.beginTransaction()
      const result = await work(connection)
      await connection.commit()
      return result
    } catch (error) {
      await connection.rollback()
      throw error
    } finally {
      await connection.release()
    }
  }
  const raise = (token: bigint, resource = 'r'): Promise<void> =>
    transact((tx) => guard.check(tx, resource, token))

  checksOn(
    () => ({ db, transact, someoneWaits: () => someoneWaits(look) }),
    () => `fence_${name.length}_${(tables += 1)}`,
  )

  it('judges by what is committed also where the transaction has read before', async () => {
    await raise(5n)
    const late = transact(async (tx) => {
      await tx.query(`select * from ${table}`)
      await raise(9n)
      await guard.check(tx, 'r', 7n)
    })
    await expect(late).rejects.toThrow(STALE)
  })

  it('says what is missing with create: false, and what is wrong with another table', async () => {
    const refused = fence(db, { table, create: false })
    await expect(refused.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('create table'),
    })
    await look(`create table ${table} (resource varbinary(10))`)
    await expect(refused.open()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  it('refuses the pool in place of a connection', async () => {
    await expect(guard.check(db as never, 'r', 1n)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

describe('the first check of a guard, in a transaction of MySQL 8', () => {
  /** Its catalogue is views on tables of InnoDB, and to look into them opens the view that a transaction has of all data. */
  async function likeMysql8(): Promise<{ pool: mysql.Pool; sent: string[] }> {
    await look('create table if not exists catalogue (table_schema text, table_name text) engine = InnoDB')
    await look(`insert into catalogue values (database(), 'first_check')`)
    await look(fenceSql({ dialect: 'mysql', table: 'first_check' }))
    const sent: string[] = []
    const pool = rewriting(disguised(poolOn(url)), (sql) => {
      sent.push(sql)
      return sql.replace('information_schema.tables', 'catalogue')
    })
    return { pool, sent }
  }

  it('reads nothing before it: the body sees what the holder before has written, and no write is lost', async () => {
    const { pool } = await likeMysql8()
    await look('create table counted (n int) engine = InnoDB')
    await look('insert into counted values (0)')
    const count = async (token: bigint, meanwhile: () => Promise<void>): Promise<void> => {
      const connection = await pool.getConnection()
      await connection.beginTransaction()
      // New, as in a process that has just started, and was not opened.
      await fence(pool, { table: 'first_check' }).check(connection, 'r', token)
      const [[row]] = (await connection.query('select n from counted')) as unknown as [[{ n: number }]]
      await meanwhile()
      await connection.query(`update counted set n = ${row.n + 1}`)
      await connection.commit()
      connection.release()
    }
    let second: Promise<void> | undefined
    await count(1n, async () => {
      second = count(2n, async () => undefined)
      await someoneWaits(look)
    })
    await second
    expect(await look('select n from counted')).toEqual([{ n: 2 }])
  })

  it('asks for the version alone, and that once', async () => {
    const { pool, sent } = await likeMysql8()
    const guard = fence(pool, { table: 'first_check' })
    await guard.open()
    sent.length = 0
    for (const token of [1n, 2n]) {
      const connection = await pool.getConnection()
      await connection.beginTransaction()
      await guard.check(connection, 'other', token)
      await connection.commit()
      connection.release()
    }
    const check = [expect.stringMatching(/^insert into /), expect.stringMatching(/ for update$/)]
    expect(sent).toEqual([expect.stringMatching(/^select \S+ as version$/), ...check, ...check])
  })

  it('finds out by it that the table is missing, has it made beside, and is in its transaction all the same', async () => {
    const pool = disguised(poolOn(url))
    await look('create table before_check (n int) engine = InnoDB')
    const connection = await pool.getConnection()
    await connection.beginTransaction()
    await connection.query('insert into before_check values (1)')
    const guard = fence(pool, { table: 'made_beside' })
    await guard.check(connection, 'r', 5n)
    await connection.rollback()
    connection.release()
    expect(await look('select n from before_check')).toEqual([])
    expect(await guard.highest('r')).toBeNull()
  })
})

it('a check outside of a transaction is refused where the server tells', async () => {
  const pool = poolOn(url)
  const connection = await pool.getConnection()
  const check = fence(pool).check(connection as never, 'r', 1n)
  await expect(check).rejects.toMatchObject({ code: 'INVALID_OPTION', message: /outside of a transaction/ })
  connection.release()
})

it.each(['mysql2', 'mariadb'])(
  'the table is never created in a transaction on a single connection of %s, which that would commit',
  async (driver) => {
    const table = `single_${driver}`
    const connection = (
      driver === 'mysql2' ? await mysql.createConnection(url) : await mariadbPoolOn(url).getConnection()
    ) as Connection & { destroy(): void }
    atEnd(async () => connection.destroy())
    const guard = fence(connection as never, { table })
    await look(`create table work_${driver} (id int)`)
    await connection.beginTransaction()
    await connection.query(`insert into work_${driver} values (1)`)
    const attempts = [
      () => guard.check(connection as never, 'r', 5n),
      () => guard.open(),
      () => guard.highest('r'),
    ]
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(/before (it|the transaction) begins/),
      })
    }
    await connection.rollback()
    expect(await look(`select * from work_${driver}`)).toEqual([])
    await connection.query('set autocommit = 0')
    await guard.open()
    expect(await guard.highest('r')).toBeNull()
  },
)

it('what somebody has left in a connection of the pool is not committed with a question', async () => {
  const pool = poolOn(url, { connectionLimit: 1 })
  await look('create table half_done (id int)')
  const left = await pool.getConnection()
  await left.beginTransaction()
  await left.query('insert into half_done values (1)')
  left.release()
  expect(await fence(pool, { table: 'asked' }).highest('r')).toBeNull()
  expect(await look('select * from half_done')).toEqual([])
})

it('a function that runs statements is asked in the dialect mysql', async () => {
  const guard = fence(look, { dialect: 'mysql', table: 'by_function' })
  await guard.open()
  const connection = await poolOn(url).getConnection()
  await connection.beginTransaction()
  const query = async (text: string, values: string[]): Promise<unknown[]> =>
    (await connection.query(text, values))[0] as unknown[]
  await guard.check(query, 'r', 5n)
  await expect(guard.check(query, 'r', 4n)).rejects.toThrow(STALE)
  await connection.commit()
  connection.release()
  expect(await guard.highest('r')).toBe(5n)
})
