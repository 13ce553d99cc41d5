import { beforeEach, describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import type { TransactionOptions } from '../../src/options.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { drivers, goesOn, heldKeys, memoryLocks, observe } from '../support/transaction-stage.ts'

const url = await freshDatabase()
const observer = await observe(url)
const { rows } = observer
const highest = (): Promise<bigint | null> =>
  fence(async (text, values) => observer.run(text, ...values), {
    dialect: 'postgres',
  }).highest('key')

beforeEach(async () => {
  await observer.run('truncate t')
  await observer.run('drop table if exists holdfast_fence')
})

describe.each(drivers)('a transaction on $name', (driver) => {
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

  it('needs one connection, also to create the table of the guard', async () => {
    const { transaction } = await driver.open(url, 1)
    for (const n of [1, 2])
      await transaction(memoryLocks(), `key ${n}`, (tx) => tx.run(`insert into t values (${n})`))
    expect(await rows()).toEqual([1, 2])
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
    expect(await heldKeys(locks)).toEqual([])
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'))
    expect(await rows()).toEqual([2])
  })

  it('is refused if the resource has seen a higher token; the function is not called', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    await transaction(locks, 'key', () => undefined)
    await observer.run(`update holdfast_fence set token = ${2n ** 62n}`)
    const call = transaction(locks, 'key', (tx) => tx.run('insert into t values (1)'))
    await expect(call).rejects.toMatchObject({ code: 'STALE_TOKEN', key: 'key' })
    expect(await heldKeys(locks)).toEqual([])
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'), { fence: false })
    expect(await rows()).toEqual([2])
  })

  it('is rolled back if the lease is lost before the commit: LOCK_LOST', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    const call = transaction(locks, 'key', async (tx, lease) => {
      await tx.run('insert into t values (1)')
      await locks.forceRelease('key')
      expect(lease.held).toBe(false)
    })
    await expect(call).rejects.toMatchObject({
      code: 'LOCK_LOST',
      message: expect.stringMatching(/rolled back/),
    })
    expect(await rows()).toEqual([])
  })

  it('whose lease is lost sends no statement any more', async () => {
    const { error, answered } = await goesOn(await driver.open(url))
    expect(error).toMatchObject({ code: 'LOCK_LOST' })
    // The one that was on its way.
    expect(answered).toBeLessThan(2)
    expect(await rows()).toEqual([])
  })

  it('that is over sends nothing for what its function left running', async () => {
    const { transaction } = await driver.open(url, 1)
    for (const outcome of ['committed', 'rolled back']) {
      let later!: () => Promise<unknown>
      await transaction(memoryLocks(), 'key', (tx) => {
        later = () => tx.run('insert into t values (1)')
        if (outcome === 'rolled back') throw new Error('own')
      }).catch(() => undefined)
      await expect(later()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
    }
    expect(await rows()).toEqual([])
  })

  it('that is being ended sends nothing for what its function left running', async () => {
    const { transaction } = await driver.open(url, 1)
    for (let i = 0; i < 20; i += 1) {
      let left!: Promise<unknown>
      const own = new Error('own')
      const call = transaction(memoryLocks(), 'key', (tx) => {
        const goOn = (): Promise<never> => tx.run('insert into t values (1)').then(goOn)
        left = goOn().then(undefined, (reason: unknown) => reason)
        throw own
      })
      await expect(call).rejects.toBe(own)
      expect(await left).toMatchObject({ code: 'LOCK_NOT_HELD' })
    }
    expect(await rows()).toEqual([])
  })

  it('runs at the isolation that was asked for', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    for (const isolation of ['read committed', 'repeatable read', 'serializable', undefined] as const) {
      const shown = await transaction(locks, 'key', (tx) => tx.run('show transaction_isolation'), {
        isolation,
      })
      expect(shown).toMatchObject([{ transaction_isolation: isolation ?? 'read committed' }])
    }
  })

  it('has a third of the lease for a statement and for a pause, or what the user allows', async () => {
    const locks = memoryLocks()
    const { transaction, run } = await driver.open(url, 1)
    const show = (lease: number): Promise<unknown[]> =>
      transaction(
        locks,
        'key',
        async (tx) => [
          ...(await tx.run('show statement_timeout')),
          ...(await tx.run('show idle_in_transaction_session_timeout')),
        ],
        { lease },
      )
    expect(await show(30_000)).toMatchObject([
      { statement_timeout: '10s' },
      { idle_in_transaction_session_timeout: '10s' },
    ])
    await run("set statement_timeout = '5s'")
    await run("set idle_in_transaction_session_timeout = '5min'")
    expect(await show(600_000)).toMatchObject([
      { statement_timeout: '5s' },
      { idle_in_transaction_session_timeout: '200s' },
    ])
    expect(await run('show idle_in_transaction_session_timeout')).toMatchObject([
      { idle_in_transaction_session_timeout: '5min' },
    ])
  })

  it('has all of its limits within a lease that is not renewed, or that is the one of the section around', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url)
    const limit = async (lease: number, renew: boolean): Promise<number> => {
      const show = "select extract(epoch from current_setting('statement_timeout')::interval)::float as s"
      const [row] = await transaction(locks, 'key', (tx) => tx.run(show), { lease, renew })
      return (row as { s: number }).s * 1000
    }
    const own = await limit(30_000, false)
    expect(own).toBeGreaterThan(8000)
    expect(own).toBeLessThan(9500)
    const inner = await locks.using('key', () => limit(30_000, true), { lease: 6000 })
    expect(inner).toBeGreaterThan(1000)
    expect(inner).toBeLessThan(3000)
  })

  it('ends as a whole with a lease that is not renewed, also of the section around, or when the user says', async () => {
    const locks = memoryLocks()
    const { transaction, run } = await driver.open(url, 1)
    // Before PostgreSQL 17 a setting without effect.
    const show = `select coalesce(current_setting('transaction_timeout', true),
      current_setting('holdfast.transaction_timeout', true)) as whole`
    const wholeMs = async (options?: TransactionOptions): Promise<number> => {
      const [row] = await transaction(locks, 'key', (tx) => tx.run(show), options)
      return Number.parseInt((row as { whole: string | null }).whole || '0', 10)
    }
    expect(await wholeMs()).toBe(0)
    expect(await wholeMs({ lease: 6000, renew: false })).toBeGreaterThan(3000)
    const unrenewed = { lease: 6000, renew: false }
    for (const keys of ['key', ['key', 'other']] as const)
      expect(await locks.using(keys, unrenewed, () => wholeMs())).toBeGreaterThan(3000)
    expect(await locks.using('key', () => wholeMs({ renew: false }))).toBe(0)
    // A shorter one of the user stays, where the server has one.
    const known = await run(
      "select set_config(name, '2500', false) from pg_settings where name = 'transaction_timeout'",
    )
    const least = await wholeMs(unrenewed)
    if (known.length > 0) expect(least).toBe(2500)
    else expect(least).toBeGreaterThan(3000)
  })

  it('in which a statement failed is no success, though the function hid it', async () => {
    const locks = memoryLocks()
    const { transaction } = await driver.open(url, 1)
    const call = transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await tx.run('select 1 / 0').catch(() => undefined)
      await tx.run('insert into t values (2)').catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject({ code: '22012' })
    expect(await rows()).toEqual([])
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (3)'))
    expect(await rows()).toEqual([3])
  })

  it("that the database refuses to commit rejects with the database's own error", async () => {
    await observer.run('create table if not exists parent (id int primary key)')
    await observer.run(
      'create table if not exists child (id int references parent deferrable initially deferred)',
    )
    const locks = memoryLocks()
    const { transaction } = await driver.open(url, 1)
    const call = transaction(locks, 'key', (tx) => tx.run('insert into child values (7)'))
    await expect(call).rejects.toMatchObject({ code: '23503' })
    await transaction(locks, 'key', (tx) => tx.run('insert into t values (1)'))
    expect(await rows()).toEqual([1])
  })

  it('with a serialization conflict rejects with 40001, for the caller to try again', async () => {
    const { transaction } = await driver.open(url)
    await observer.run('insert into t values (1)')
    const call = transaction(
      memoryLocks(),
      'key',
      async (tx) => {
        await tx.run('select n from t')
        await observer.run('update t set n = 2')
        await tx.run('update t set n = 3')
      },
      { isolation: 'repeatable read' },
    )
    await expect(call).rejects.toMatchObject({ code: '40001' })
    expect(await rows()).toEqual([2])
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
    expect(await rows()).toEqual(driver.pooled ? [1] : [])
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
})
