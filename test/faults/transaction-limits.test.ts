import { describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { drivers, heldKeys, memoryLocks, observe, until } from '../support/transaction-stage.ts'
import type { Tx } from '../support/transaction-drivers.ts'

const url = await freshDatabase()
await observe(url)

interface Limits {
  readonly statement: number
  readonly pause: number
  /** NaN where there is none. Before PostgreSQL 17 a setting without effect. */
  readonly whole: number
}

async function limitsIn(tx: Tx): Promise<Limits> {
  const ms = (setting: string): string =>
    `extract(epoch from nullif(current_setting('${setting}', true), '')::interval)::float * 1000`
  const [row] = await tx.run(`select ${ms('statement_timeout')} as statement,
    ${ms('idle_in_transaction_session_timeout')} as pause,
    coalesce(nullif(${ms('transaction_timeout')}, 0),
      nullif(current_setting('holdfast.transaction_timeout', true), '')::float) as whole`)
  const { statement, pause, whole } = row as Record<keyof Limits, number | null>
  return { statement: Number(statement), pause: Number(pause), whole: whole ?? Number.NaN }
}

/** The store keeps a lease that much longer than its holder believes in it. */
const marginOf = (leaseMs: number): number => Math.max(leaseMs * 0.05, 50)

describe.each(drivers)('nothing at the server outlives the lease: a transaction on $name', (driver) => {
  it('has its limits as of when BEGIN was sent, however long a connection had to be waited for', async () => {
    const opened = await driver.open(url, 1)
    const locks = memoryLocks()
    await opened.transaction(locks, 'key', () => undefined)
    let letGo: (() => void) | undefined
    const other = opened.transaction(locks, 'other', () => new Promise<void>((resolve) => (letGo = resolve)))
    await until('the other to be inside', () => letGo)
    // A connection is waited for until a third of the lease is over.
    const waiting = opened.transaction(
      locks,
      'key',
      async (tx, lease) => [await limitsIn(tx), lease.remainingMs] as const,
      { lease: 9000, renew: false },
    )
    await until('the lease', async () => (await heldKeys(locks)).includes('key'))
    await new Promise((resolve) => setTimeout(resolve, 500))
    letGo?.()
    const [limits, leftMs] = await waiting
    await other
    expect(leftMs).toBeLessThan(9000 - marginOf(9000) - 490)
    expect(limits.whole).toBeLessThanOrEqual(leftMs + marginOf(9000))
    expect(limits.statement + limits.pause).toBeLessThanOrEqual(limits.whole)
  })

  it('that freezes just before a renewal is over two thirds of the lease later, also of one around it', async () => {
    const { transaction } = await driver.open(url)
    const locks = memoryLocks()
    const own = await transaction(locks, 'key', limitsIn, { lease: 6000 })
    // A longer one is of no use inside: the lease around it is not renewed for as long.
    const inner = (): Promise<Limits> => transaction(locks, 'key', limitsIn, { lease: 30_000 })
    const nested = await locks.using('key', { lease: 6000 }, inner)
    const several = await locks.using(['key', 'other'], { lease: 6000 }, inner)
    for (const { statement, pause, whole } of [own, nested, several]) {
      expect(statement).toBeGreaterThan(1500)
      expect(statement + pause).toBeLessThanOrEqual(4000)
      expect(whole).toBeNaN()
    }
  })
})
