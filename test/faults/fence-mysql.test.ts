import mysql from 'mysql2/promise'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Fence, fence, type FenceDatabase, type FenceTransaction } from '../../src/fence/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { disguised } from '../support/mysql-client.ts'
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
