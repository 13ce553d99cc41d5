import pg from 'pg'
import postgres from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { atEnd, drivers, heldKeys, memoryLocks, observe, until } from '../support/transaction-stage.ts'

const url = await freshDatabase()
const observer = await observe(url)
const { rows } = observer

const REFUSED = {
  code: 'INVALID_OPTION',
  key: 'key',
  message: expect.stringMatching(/was not sent: return to commit, throw to roll back/),
}

beforeEach(() => observer.run('truncate t'))

describe.each(drivers)('a function that ends the transaction itself, on $name', (driver) => {
  it.each(['commit', 'rollback', 'begin', '/* now */ end;', 'abort', "prepare transaction 'x'"])(
    '%s is refused and not sent, and nothing is stored',
    async (text) => {
      const locks = memoryLocks()
      const { transaction } = await driver.open(url, 1)
      const call = transaction(locks, 'key', async (tx) => {
        await tx.run('insert into t values (1)')
        await tx.run(text)
      })
      await expect(call).rejects.toMatchObject(REFUSED)
      expect(await rows()).toEqual([])
      expect(await heldKeys(locks)).toEqual([])
      await transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'))
      expect(await rows()).toEqual([2])
    },
  )

  it('nothing is stored either if it hides that it was refused: it may have wanted to roll back', async () => {
    const { transaction } = await driver.open(url, 1)
    const call = transaction(memoryLocks(), 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await tx.run('rollback').catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject(REFUSED)
    expect(await rows()).toEqual([])
  })

  it.each([
    ['rollback', []],
    ['rollback; begin; insert into t values (2)', []],
    ['commit', [1]],
    ['commit; begin; insert into t values (2)', [1]],
    ['commit; begin; select 1 / 0', [1]],
  ])('further on in a text, by %s: found out before COMMIT, and no success', async (text, stored) => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url, 1)
    const call = transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await tx.run(`select 1; ${text}`).catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject(
      text.endsWith('0')
        ? { code: '22012' }
        : { code: 'INVALID_OPTION', key: 'key', message: expect.stringMatching(/was no longer there/) },
    )
    expect(await rows()).toEqual(stored)
    expect(await heldKeys(locks)).toEqual([])
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (3)'))
    expect(await rows()).toEqual([...stored, 3])
  })

  it('savepoints are its own business', async () => {
    const { transaction } = await driver.open(url, 1)
    await transaction(memoryLocks(), 'key', async (tx) => {
      await tx.run('savepoint a')
      await tx.run('insert into t values (1)')
      await tx.run('rollback to a')
      await tx.run('insert into t values (2)')
      await tx.run('release savepoint a')
    })
    expect(await rows()).toEqual([2])
  })
})

describe('in the other ways that a driver has', () => {
  it('pg: an object, and a callback', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: url })
    atEnd(() => pool.end())
    const byObject = locks.transaction('key', pool, (tx) => tx.query({ text: 'commit' }))
    await expect(byObject).rejects.toMatchObject(REFUSED)
    const byCallback = locks.transaction('key', pool, (tx) => {
      tx.query('rollback', () => undefined)
    })
    await expect(byCallback).rejects.toMatchObject(REFUSED)
  })

  it('postgres.js: a template, a template that starts with a fragment, and prepare(); not a fragment alone', async () => {
    const locks = memoryLocks()
    const sql = postgres(url, { max: 1 })
    atEnd(() => sql.end({ timeout: 0 }))
    await expect(locks.transaction('key', sql, (tx) => tx`rollback`)).rejects.toMatchObject(REFUSED)
    const nested = locks.transaction('key', sql, (tx) => tx`${tx.unsafe('commit')} and chain`)
    await expect(nested).rejects.toMatchObject(REFUSED)
    const prepared = locks.transaction('key', sql, (tx) => tx.prepare('x'))
    await expect(prepared).rejects.toMatchObject(REFUSED)
    const [row] = await locks.transaction(
      'key',
      sql,
      (tx) => tx`select case when true then 1 ${tx.unsafe('end')} as n`,
    )
    expect(row).toMatchObject({ n: 1 })
  })
})

describe('a question before COMMIT that fails', () => {
  it('pg: rejects with its error, and leaves no transaction open on the connection', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    atEnd(() => pool.end())
    // In place of a limit that is reached, or of memory that is used up.
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (asked: unknown, ...rest: unknown[]) => never
      const intercepted = (asked: { text?: string }, ...rest: unknown[]): never =>
        asked.text?.endsWith('; commit') ? query({ text: 'select 1 / 0; commit' }) : query(asked, ...rest)
      client.query = intercepted as never
    })
    const call = locks.transaction('key', pool, (tx) => tx.query('insert into t values (1)'))
    await expect(call).rejects.toMatchObject({ code: '22012' })
    const { rows: found } = await pool.query('select now() = statement_timestamp() as fresh')
    expect(found).toEqual([{ fresh: true }])
    expect(await rows()).toEqual([])
  })
})

describe('a pool that is used for transactions only', () => {
  it('outlives the death of an idle connection, with one listener of ours', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: url })
    atEnd(() => pool.end())
    for (const fence of [false, undefined] as const) {
      for (let i = 0; i < 3; i += 1) {
        await locks.transaction('key', pool, (tx) => tx.query('insert into t values (1)'), { fence })
      }
    }
    expect(pool.listenerCount('error')).toBe(1)
    const { rows: backends } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    await observer.run('select pg_terminate_backend($1)', backends[0]!.pid)
    await until('the pool to notice', () => pool.totalCount === 0)
    await locks.transaction('key', pool, (tx) => tx.query('insert into t values (2)'))
  })
})
