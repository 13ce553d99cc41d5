import type mysql from 'mysql2/promise'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Fence, fence, type FenceDatabase, type FenceTransaction } from '../../src/fence/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { disguised } from '../support/mysql-client.ts'
import { mariadbPoolOn, observe, poolOn, someoneWaits } from '../support/mysql-stage.ts'

const STALE = expect.objectContaining({ code: 'STALE_TOKEN' })
const HIGHEST = 2n ** 63n - 1n
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

  it('refuses a token lower than the highest seen, and says which both are', async () => {
    for (const token of [5n, 9n, 9n]) await raise(token, 'stock:7')
    await expect(raise(8n, 'stock:7')).rejects.toThrow(
      expect.objectContaining({ code: 'STALE_TOKEN', message: expect.stringMatching(/\b8\b.*\b9\b/) }),
    )
    expect(await guard.highest('stock:7')).toBe(9n)
    expect(await guard.highest('stock:8')).toBeNull()
  })

  it('is exact for the highest tokens, where numbers are not', async () => {
    await raise(HIGHEST - 1n)
    await raise(HIGHEST)
    await expect(raise(HIGHEST - 1n)).rejects.toThrow(STALE)
    expect(await guard.highest('r')).toBe(HIGHEST)
  })

  it('makes the second writer wait for the first, then judges it by what was committed', async () => {
    await guard.open()
    for (const resource of ['lower', 'higher']) {
      const late: Promise<void>[] = []
      await transact(async (tx) => {
        await guard.check(tx, resource, 9n)
        late.push(raise(resource === 'lower' ? 8n : 10n, resource))
        void Promise.allSettled(late)
        await someoneWaits(look)
      })
      if (resource === 'lower') await expect(late[0]).rejects.toThrow(STALE)
      else await late[0]
      expect(await guard.highest(resource)).toBe(resource === 'lower' ? 9n : 10n)
    }
  })

  it('judges by what is committed also where the transaction has read before', async () => {
    await raise(5n)
    const late = transact(async (tx) => {
      await tx.query(`select * from ${table}`)
      await raise(9n)
      await guard.check(tx, 'r', 7n)
    })
    await expect(late).rejects.toThrow(STALE)
  })

  it('counts a token as seen when the transaction commits, not if it rolls back', async () => {
    await raise(5n)
    const rolledBack = transact(async (tx) => {
      await guard.check(tx, 'r', 9n)
      expect(await guard.highest('r')).toBe(5n)
      throw new Error('mine')
    })
    await expect(rolledBack).rejects.toThrow('mine')
    await raise(6n)
  })

  it('lets a strict check pass once per token, and forgets when told to', async () => {
    guard = fence(db, { table, strict: true })
    await raise(5n)
    await expect(raise(5n)).rejects.toThrow(STALE)
    const both = await Promise.allSettled([raise(7n), raise(7n)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await guard.forget('r')).toBe(true)
    expect(await guard.forget('r')).toBe(false)
    await raise(1n)
  })

  it.each([`'; drop table t; --`, '?', '\\', '%', 'NULL', 'trailing ', 'Case', '日本 🔒', 'x'.repeat(512)])(
    'takes %j for a name and nothing else',
    async (resource) => {
      await raise(5n, resource)
      await expect(raise(4n, resource)).rejects.toThrow(STALE)
      await raise(1n, `${resource.slice(0, 200)} `.toUpperCase())
      expect(await guard.highest(resource)).toBe(5n)
    },
  )

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
