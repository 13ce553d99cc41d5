import pg from 'pg'
import postgres from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { atEnd, heldKeys, memoryLocks, observe } from '../support/transaction-stage.ts'

const url = await freshDatabase()
const observer = await observe(url)
const { rows } = observer

beforeEach(() => observer.run('truncate t'))

describe('a server that cannot be reached', () => {
  const nowhere = 'postgres://postgres@127.0.0.1:1/postgres'

  it('pg: STORE_UNAVAILABLE with the cause', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: nowhere })
    atEnd(() => pool.end())
    for (const fence of [false, undefined] as const) {
      const call = locks.transaction('key', pool, () => 1, { fence })
      await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { code: 'ECONNREFUSED' } })
    }
    expect(await heldKeys(locks)).toEqual([])
  })

  it('postgres.js: STORE_UNAVAILABLE with the cause', async () => {
    const locks = memoryLocks()
    const sql = postgres(nowhere)
    atEnd(() => sql.end({ timeout: 0 }))
    const call = locks.transaction('key', sql, () => 1, { fence: false })
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { code: 'ECONNREFUSED' } })
    expect(await heldKeys(locks)).toEqual([])
  })

  it('or a database that is not there is told without a word about the table of the guard', async () => {
    const absent = new URL(url)
    absent.pathname = '/absent'
    for (const [target, code] of [
      [nowhere, 'ECONNREFUSED'],
      [absent.href, '3D000'],
    ] as const) {
      const locks = memoryLocks()
      const pool = new pg.Pool({ connectionString: target })
      const sql = postgres(target)
      atEnd(() => Promise.all([pool.end(), sql.end({ timeout: 0 })]))
      for (const call of [locks.transaction('key', pool, () => 1), locks.transaction('key', sql, () => 1)]) {
        const error = (await call.catch((reason: unknown) => reason)) as Error
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'key', cause: { code } })
        expect(error.message).toMatch(/could not begin, nothing was done: /)
        expect(error.message).toContain(code)
        expect(error.message).not.toMatch(/fence/)
      }
      expect(await heldKeys(locks)).toEqual([])
    }
  })

  it('a client whose connect() failed is refused at the call', async () => {
    const client = new pg.Client({ connectionString: nowhere })
    await client.connect().catch(() => undefined)
    await expect(memoryLocks().transaction('key', client, () => 1)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/the client is not connected/),
    })
  })

  it.each([{}, { fence: false }] as const)(
    'a client whose connection was lost inside a transaction is not said to be in one, with %o',
    async (options) => {
      const locks = memoryLocks()
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => undefined)
      await client.connect()
      atEnd(() => client.end())
      const lost = locks.transaction('key', client, async (tx) => {
        const ended = new Promise((resolve) => client.once('end', resolve))
        const { rows: own } = (await tx.query('select pg_backend_pid() as pid')) as pg.QueryResult<{
          pid: number
        }>
        await observer.run('select pg_terminate_backend($1)', own[0]?.pid)
        await ended
      })
      await expect(lost).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect(locks.transaction('key', client, () => 1, options)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/could not begin, nothing was done/),
        cause: expect.any(Error),
      })
      expect(await heldKeys(locks)).toEqual([])
    },
  )
})

describe("a client of pg that is inside the user's own transaction", () => {
  it.each([{}, { isolation: 'serializable' }] as const)(
    'is refused, and that transaction goes on, with %o',
    async (options) => {
      const locks = memoryLocks()
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      atEnd(() => client.end())
      await client.query('set client_min_messages = error')
      await client.query('begin; insert into t values (1)')
      const insert = (tx: pg.Client): unknown => tx.query('insert into t values (2)')
      const call = locks.transaction('key', client, insert, { fence: false, ...options })
      await expect(call).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(/inside a transaction already/),
      })
      await client.query('commit')
      expect(await rows()).toEqual([1])
    },
  )

  it.each([{}, { isolation: 'serializable' }] as const)(
    'is refused and not rolled back if that has failed, also by a client that does not tell, with %o',
    async (options) => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      atEnd(() => client.end())
      const sent: unknown[] = []
      const mute = new Proxy(client, {
        get: (target, name) => {
          if (name === 'getTransactionStatus') return undefined
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          return (...args: unknown[]): unknown => {
            if (name === 'query') sent.push((args[0] as { text?: string }).text ?? args[0])
            return value.apply(target, args)
          }
        },
      })
      for (const given of [client, mute]) {
        await client.query('begin')
        await client.query('no such statement').catch(() => undefined)
        const call = memoryLocks().transaction('key', given, () => 1, { fence: false, ...options })
        await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION' })
        expect(sent.filter((text) => /rollback/.test(String(text)))).toEqual([])
        // Still open, and failed.
        expect(await client.query('commit')).toMatchObject({ command: 'ROLLBACK' })
        await client.query('begin; insert into t values (1)')
        const other = memoryLocks().transaction('key', given, () => 1, { fence: false, ...options })
        await expect(other).rejects.toMatchObject({ code: 'INVALID_OPTION' })
        await client.query('commit')
      }
      expect(await rows()).toEqual([1, 1])
    },
  )

  it('a client that does not tell can begin one with a level', async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    atEnd(() => client.end())
    const mute = new Proxy(client, {
      get: (target, name) => {
        if (name === 'getTransactionStatus') return undefined
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const level = await memoryLocks().transaction(
      'key',
      mute,
      async (tx) => (await tx.query('show transaction_isolation')).rows,
      { isolation: 'serializable', fence: false },
    )
    expect(level).toEqual([{ transaction_isolation: 'serializable' }])
  })

  it('is refused as well if a pool lent it; but what a pool lends to us in such a state is closed', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    atEnd(() => pool.end())
    const client = await pool.connect()
    await client.query('begin; insert into t values (1)')
    const options = { fence: false, lease: 60_000 } as const
    const refused = { code: 'INVALID_OPTION' }
    await expect(locks.transaction('key', client, () => 1, options)).rejects.toMatchObject(refused)
    await client.query('commit')
    await client.query('begin; insert into t values (2)')
    client.release()
    await expect(locks.transaction('key', pool, () => 1, options)).rejects.toMatchObject(refused)
    await locks.transaction('key', pool, (tx) => tx.query('insert into t values (3)'), options)
    expect(await rows()).toEqual([1, 3])
  })

  it('a client that a pool lent may be given; it is not given back', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: url })
    atEnd(() => pool.end())
    const client = await pool.connect()
    await locks.transaction('key', client, (tx) => tx.query('insert into t values (1)'))
    expect((await client.query('select n from t')).rows).toEqual([{ n: 1 }])
    client.release()
  })

  it('cannot be released or ended by the function', async () => {
    const locks = memoryLocks()
    const pool = new pg.Pool({ connectionString: url })
    atEnd(() => pool.end())
    const call = locks.transaction('key', pool, (tx) => tx.release())
    await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(pool).toMatchObject({ totalCount: 1, idleCount: 1 })
  })
})

describe('a query that postgres.js itself refuses', () => {
  it.each<[string, string, (tx: postgres.TransactionSql) => Promise<unknown>]>([
    ['a value that cannot be sent', 'ERR_INVALID_ARG_TYPE', (tx) => tx`select ${{ a: 1 } as never}::bytea`],
    ['a file that is not there', 'ENOENT', (tx) => tx.file('not-there.sql')],
  ])('for %s: rolled back before the key is free, with its own error', async (_, code, query) => {
    const locks = memoryLocks()
    const sql = postgres(url, { max: 1, onnotice: () => undefined, fetch_types: false })
    atEnd(() => sql.end({ timeout: 0 }))
    const call = locks.transaction('key', sql, async (tx) => {
      await tx`insert into t values (1)`
      await query(tx)
    })
    await expect(call).rejects.toMatchObject({ code })
    expect(await heldKeys(locks)).toEqual([])
    const open = await observer.run(
      'select 1 from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid() and datname = current_database()',
    )
    expect(open).toEqual([])
    await locks.transaction('key', sql, (tx) => tx`insert into t values (2)`)
    expect(await rows()).toEqual([2])
  })

  it('and whose error the function hides: rolled back, with that error, and the outcome is known', async () => {
    const locks = memoryLocks()
    const sql = postgres(url, { max: 1, onnotice: () => undefined, fetch_types: false })
    atEnd(() => sql.end({ timeout: 0 }))
    const call = locks.transaction('key', sql, async (tx) => {
      await tx`insert into t values (1)`
      await tx`insert into t values (${undefined as never})`.catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject({ code: 'UNDEFINED_VALUE' })
    await locks.transaction('key', sql, async (tx) => {
      await tx.savepoint((inner) => inner`select ${undefined as never}`).catch(() => undefined)
      await tx`insert into t values (2)`
    })
    expect(await rows()).toEqual([2])
  })
})
