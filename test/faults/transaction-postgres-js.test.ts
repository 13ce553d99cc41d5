import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { proxyTo } from '../support/stage.ts'
import { atEnd, memoryLocks, observe } from '../support/transaction-stage.ts'

const url = await freshDatabase()
const observer = await observe(url)

beforeEach(() => observer.run('truncate t'))

function clientOn(at: string, max: number): postgres.Sql {
  const sql = postgres(at, { max, onnotice: () => undefined })
  atEnd(() => sql.end({ timeout: 1 }))
  return sql
}

describe('a transaction on postgres.js with a cursor', () => {
  const numbers = (tx: postgres.TransactionSql) => tx`select g from generate_series(1, 10) as g`.cursor(4)

  it.each([
    ['to its end', false],
    ['and left', true],
  ])('that is iterated %s is committed, at once', async (_, isLeft) => {
    const started = performance.now()
    await memoryLocks().transaction('key', clientOn(url, 1), async (tx) => {
      await tx`insert into t values (1)`
      for await (const rows of numbers(tx)) if (rows.length > 0 && isLeft) break
    })
    expect(await observer.rows()).toEqual([1])
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('is rolled back at once if the lease is lost', async () => {
    const locks = memoryLocks()
    let endedAt = Infinity
    const call = locks.transaction(
      'key',
      clientOn(url, 1),
      async (tx, lease) => {
        await tx`insert into t values (1)`
        for await (const rows of numbers(tx)) if (rows.length > 0) break
        await locks.forceRelease('key')
        await lease.extend().catch(() => undefined)
        endedAt = performance.now()
      },
      { lease: '30s' },
    )
    await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(performance.now() - endedAt).toBeLessThan(5000)
    expect(await observer.rows()).toEqual([])
  })
})

describe('a savepoint on postgres.js that was not awaited', () => {
  it.each([
    ['committed', false, [20, 21]],
    ['rolled back', true, [20, 21]],
  ] as const)('ends before the transaction is %s, and not in the next one', async (_, fails, rows) => {
    const locks = memoryLocks()
    const sql = clientOn(url, 1)
    const left = new Error('the function failed')
    const first = locks.transaction('one', sql, async (tx) => {
      const inside = tx.savepoint(async (sp) => {
        await sp`insert into t values (8)`
        await pause(60)
        await sp`insert into t values (9)`
      })
      inside.catch(() => undefined)
      await pause(20)
      if (fails) throw left
    })
    if (fails) await expect(first).rejects.toBe(left)
    else await first
    await locks.transaction('two', sql, async (tx) => {
      await tx`insert into t values (20)`
      await pause(150)
      await tx`insert into t values (21)`
    })
    expect(await observer.rows()).toEqual(rows)
  })
})

// What the client writes on a connection that is gone throws where nobody can catch it, and fails the run.
describe('a transaction on postgres.js that loses its lease, and then its connection', () => {
  it.each([
    [1, 'hangUp'],
    [1, 'cut'],
    [3, 'hangUp'],
    [3, 'cut'],
  ] as const)('ends, and so does not the process: %d connections, %s', async (max, loseAll) => {
    const network = await proxyTo(url)
    const sql = clientOn(network.url, max)
    const locks = memoryLocks()
    const call = locks.transaction(
      'key',
      sql,
      async (tx, lease) => {
        await tx`select 1`
        tx`select pg_sleep(2)`.catch(() => undefined)
        await pause(50)
        await locks.forceRelease('key')
        await lease.extend().catch(() => undefined)
        setTimeout(() => network.proxy[loseAll](), max === 1 ? 100 : 0)
      },
      { lease: '9s' },
    )
    await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(await sql`select 7 as n`).toEqual([{ n: 7 }])
  })
})
