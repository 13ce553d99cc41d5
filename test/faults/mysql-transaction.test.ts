import type mysql from 'mysql2/promise'
import { beforeEach, describe, expect, it } from 'vitest'
import { fence, fenceSql } from '../../src/fence/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { disguised, rewriting } from '../support/mysql-client.ts'
import { observe, poolOn, proxyTo, someoneWaits, transactionDrivers } from '../support/mysql-stage.ts'
import { goesOn, heldKeys, memoryLocks } from '../support/transaction-stage.ts'

const url = await freshMariadbDatabase()
const look = observe(url)
await look('create table t (n int not null)')
await look(fenceSql({ dialect: 'mysql' }))

const rows = async (): Promise<unknown[]> => (await look('select n from t order by n')).map(({ n }) => n)
const highest = (): Promise<bigint | null> => fence(look, { dialect: 'mysql' }).highest('key')

beforeEach(async () => {
  // Much quicker than to truncate or drop them.
  await look('delete from t')
  await look('delete from holdfast_fence')
})

describe.each(transactionDrivers)('a transaction on $name', (driver) => {
  it('is stored when the function has ended, with the token of the lease', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    const token = await transaction(locks, 'key', async (tx, lease) => {
      await tx.run('insert into t values (1)')
      expect(await rows()).toEqual([])
      expect(await heldKeys(locks)).toEqual(['key'])
      return lease.token
    })
    expect(await rows()).toEqual([1])
    expect(await highest()).toBe(token)
    expect(await heldKeys(locks)).toEqual([])
  })

  it("is rolled back when the function fails, with the function's error; the connection is used again", async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url, 1)
    const own = new Error('own')
    const call = transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      throw own
    })
    await expect(call).rejects.toBe(own)
    expect(await rows()).toEqual([])
    expect(await highest()).toBeNull()
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'))
    expect(await rows()).toEqual([2])
  })

  it('is refused if the resource has seen a higher token; the function is not called', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    await transaction(locks, 'key', () => undefined)
    await look(`update holdfast_fence set token = ${2n ** 62n}`)
    const call = transaction(locks, 'key', (tx) => tx.run('insert into t values (1)'))
    await expect(call).rejects.toMatchObject({ code: 'STALE_TOKEN', key: 'key' })
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'), { fence: false })
    expect(await rows()).toEqual([2])
  })

  it('whose lease is lost is rolled back, and sends no statement any more', async () => {
    const { error, answered } = await goesOn(await driver.open(url))
    expect(error).toMatchObject({ code: 'LOCK_LOST' })
    expect(answered).toBeLessThan(2)
    expect(await rows()).toEqual([])
  })

  it('that is over sends nothing for what its function left running', async () => {
    const { transaction } = await driver.open(url, 1)
    let later!: () => Promise<unknown>
    await transaction(memoryLocks(), 'key', (tx) => {
      later = () => tx.run('insert into t values (1)')
    })
    await expect(later()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
    expect(await rows()).toEqual([])
  })

  it.each(['read committed', 'repeatable read', 'serializable'] as const)('runs at %s', async (isolation) => {
    const { transaction } = await driver.open(url, 1)
    await look('insert into t values (1)')
    const seen = await transaction(
      memoryLocks(),
      'key',
      async (tx) => {
        const count = async (): Promise<unknown> => (await tx.run('select count(*) as n from t'))[0]
        const before = await count()
        // A serializable reader has locked what it has read.
        const other = look('set statement innodb_lock_wait_timeout = 0 for insert into t values (2)')
        const refused = await other.then(
          () => false,
          () => true,
        )
        return {
          refused,
          same:
            String(Object.values(before as object)[0]) ===
            String(Object.values((await count()) as object)[0]),
        }
      },
      { isolation },
    )
    expect(seen).toEqual({ refused: isolation === 'serializable', same: isolation !== 'read committed' })
  })

  it('has a third of the lease for a statement and for a pause; what the user has set is back afterwards', async () => {
    const { transaction, run } = await driver.open(url, 1)
    await run('set session wait_timeout = 5000, session idle_transaction_timeout = 6000')
    const settings = `select concat_ws(' ', @@wait_timeout, @@idle_transaction_timeout, @@max_statement_time) as s`
    const [inside] = await transaction(memoryLocks(), 'key', (tx) => tx.run(settings), { lease: 30_000 })
    expect(['5000 10 10.000000', '10 6000 0.000000']).toContain((inside as { s: string }).s)
    expect(await run(settings)).toMatchObject([{ s: '5000 6000 0.000000' }])
  })

  it.each(['commit', 'rollback', '/* now */ begin'])(
    'in which the function says %s is refused, and stores nothing',
    async (word) => {
      const { transaction } = await driver.open(url, 1)
      const call = transaction(memoryLocks(), 'key', async (tx) => {
        await tx.run('insert into t values (1)')
        await tx.run(word).catch(() => undefined)
      })
      await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION', message: /not for the function/ })
      expect(await rows()).toEqual([])
    },
  )

  it('that a statement commits by the way is no success', async () => {
    const { transaction } = await driver.open(url, 1)
    const call = transaction(memoryLocks(), 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await tx.run('create table if not exists u (n int)')
    })
    await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION', message: /no longer there/ })
  })

  it('that is the victim of a deadlock (1213) sends nothing more, though the function goes on', async () => {
    const locks = memoryLocks()
    const { transaction, run } = await driver.open(url, 2)
    await look('create table if not exists d (id int primary key, n int)')
    await look('replace into d values (1, 0), (2, 0)')
    const other = poolOn(url)
    const connection = await other.getConnection()
    await connection.beginTransaction()
    // The heavier one survives.
    await connection.query('insert into t values (7), (8), (9), (10), (11)')
    await connection.query('update d set n = 1 where id = 1')
    let waiting: Promise<unknown> = Promise.resolve()
    const call = transaction(locks, 'key', async (tx) => {
      await tx.run('update d set n = 2 where id = 2')
      waiting = connection.query('update d set n = 1 where id = 2')
      await someoneWaits(look)
      await tx.run('update d set n = 2 where id = 1').catch(() => undefined)
      await tx.run('insert into t values (1)').catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject({ errno: 1213 })
    await waiting
    await connection.rollback()
    connection.release()
    expect(await rows()).toEqual([])
    expect(await run('select n from d')).toMatchObject([{ n: 0 }, { n: 0 }])
  })

  it('cannot wait for the one around it: DEADLOCK', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    const inner = (): Promise<unknown> =>
      transaction(locks, 'key', (tx) => tx.run('insert into t values (1)'))
    await expect(transaction(locks, 'key', inner)).rejects.toMatchObject({ code: 'DEADLOCK' })
    const elsewhere = transaction(locks, 'other', inner)
    if (driver.pooled) await elsewhere
    else await expect(elsewhere).rejects.toMatchObject({ code: 'DEADLOCK' })
  })

  it('20 at once, on 20 keys and on one: all are stored', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url, 5)
    const numbers = [...Array(20).keys()]
    const add = (key: string, n: number): Promise<unknown> =>
      transaction(locks, key, (tx) => tx.run(`insert into t values (${n})`), { wait: '50s' })
    await Promise.all(numbers.flatMap((n) => [add(`key ${n}`, n), add('key', n)]))
    expect(await rows()).toEqual(numbers.flatMap((n) => [n, n]))
  })

  it('whose session is killed while the function runs: its next statement fails, nothing is stored', async () => {
    const { transaction } = await driver.open(url, 1)
    const call = transaction(memoryLocks(), 'key', async (tx) => {
      const [row] = await tx.run('select connection_id() as id')
      await tx.run('insert into t values (1)')
      await look(`kill ${String((row as { id: unknown }).id)}`)
      await tx.run('insert into t values (2)')
    })
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeUnknown: false })
    expect(await rows()).toEqual([])
  })

  it('whose connection is silent at the end is given up, and the key is free', async () => {
    const network = await proxyTo(url)
    const locks = memoryLocks()
    const { transaction, run } = await driver.open(network.url, 1)
    await run('select 1')
    const call = transaction(
      locks,
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        network.proxy.freeze()
      },
      { lease: 700, fence: false, renew: false },
    )
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await heldKeys(locks)).toEqual([])
  })
})

it('a lost reply to COMMIT: the outcome is unknown, and the key is free', async () => {
  const network = await proxyTo(url)
  const locks = memoryLocks()
  const pool = rewriting(poolOn(network.url, { connectionLimit: 1 }), (sql) => {
    if (sql.includes('commit')) network.proxy.dropReplies()
    return sql
  })
  const call = locks.transaction('key', pool, (tx) => tx.query('insert into t values (1)'), {
    lease: 1500,
    renew: false,
    fence: false,
  })
  await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeUnknown: true })
  expect(await rows()).toEqual([1])
  expect(await heldKeys(locks)).toEqual([])
})

it('a transaction on MariaDB costs three statements: one to begin, the check, and one to commit', async () => {
  const sent: string[] = []
  const pool = rewriting(poolOn(url, { connectionLimit: 1 }), (sql) => {
    sent.push(sql)
    return sql
  })
  const locks = memoryLocks()
  const store = (n: number): Promise<unknown> =>
    locks.transaction('key', pool, (tx) => tx.query(`insert into t values (${n})`))
  await store(1)
  sent.length = 0
  await store(2)
  expect(sent.map((sql) => /start transaction|holdfast_fence|commit/.exec(sql)?.[0])).toEqual([
    'start transaction',
    'holdfast_fence',
    'commit',
  ])
  expect(await rows()).toEqual([1, 2])
})

it('a pause longer than a third of the lease is ended by the server, and nothing is stored', async () => {
  const pause = (pool: mysql.Pool): Promise<unknown> =>
    memoryLocks().transaction(
      'key',
      pool,
      async (tx) => {
        await tx.query('insert into t values (1)')
        await new Promise((resolve) => setTimeout(resolve, 2200))
        await tx.query('insert into t values (2)')
      },
      { lease: 3000, fence: false },
    )
  const calls = [poolOn(url), disguised(poolOn(url))].map((pool) =>
    expect(pause(pool)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/lost before COMMIT.*a third of the lease/),
    }),
  )
  await Promise.all(calls)
  expect(await rows()).toEqual([])
})

it('a statement longer than a third of the lease is given up by MariaDB', async () => {
  const pool = poolOn(url)
  // To connect is no part of the lease, which is short.
  await memoryLocks().transaction('key', pool, () => undefined)
  const call = memoryLocks().transaction('key', pool, (tx) => tx.query('select sleep(9)'), { lease: 1500 })
  await expect(call).rejects.toMatchObject({ errno: 1969 })
})

it('a guard that another transaction has locked is waited for, but not for ever', async () => {
  const pool = poolOn(url)
  const locks = memoryLocks()
  await locks.transaction('key', pool, () => undefined)
  const connection = await pool.getConnection()
  await connection.beginTransaction()
  await connection.query('select * from holdfast_fence for update')
  const call = locks.transaction('key', pool, () => undefined, { lease: 1500 })
  await expect(call).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: /could not begin.*stayed locked/,
  })
  await connection.rollback()
  connection.release()
  await locks.transaction('key', pool, () => undefined)
})

it('a lease that is lost while the check waits for the row of the guard: LOCK_LOST', async () => {
  const pool = poolOn(url)
  const locks = memoryLocks()
  await locks.transaction('key', pool, () => undefined)
  const connection = await pool.getConnection()
  await connection.beginTransaction()
  await connection.query('select * from holdfast_fence for update')
  const call = locks.using('key', { lease: 9000 }, async (lease) => {
    const inner = locks.transaction('key', pool, () => undefined)
    inner.catch(() => undefined)
    await someoneWaits(look)
    await locks.forceRelease('key')
    await lease.extend().catch(() => undefined)
    return inner
  })
  await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST', cause: { errno: 1969 } })
  await connection.rollback()
  connection.release()
})

it('a connection that has begun a transaction of its own is refused, and goes on with it', async () => {
  const connection = await poolOn(url, { connectionLimit: 1 }).getConnection()
  await connection.beginTransaction()
  await connection.query('insert into t values (1)')
  const call = memoryLocks().transaction('key', connection, () => undefined, { fence: false })
  await expect(call).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: /inside a transaction already/,
  })
  await connection.query('insert into t values (2)')
  await connection.commit()
  connection.release()
  expect(await rows()).toEqual([1, 2])
})
