import pg from 'pg'
import { afterAll } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import { atEnd, failureOf, memoryLocks } from './stage.ts'
import { type Driver, everyDriver, type Opened, type Tx } from './transaction-drivers.ts'

export { atEnd, failureWithin, memoryLocks, until } from './stage.ts'

/** A connection that tests look at the data with. */
export interface Observer {
  run(text: string, ...values: unknown[]): Promise<unknown[]>
  /** The values of the column n of table t. */
  rows(): Promise<number[]>
}

/** For a whole file: makes table t. */
export async function observe(url: string): Promise<Observer> {
  const pool = new pg.Pool({ connectionString: url })
  // The database may be dropped before the last connection is closed.
  pool.on('error', () => undefined)
  afterAll(() => pool.end())
  const run = async (text: string, ...values: unknown[]): Promise<unknown[]> =>
    (await pool.query(text, values)).rows
  await run('create table t (n int not null)')
  const rows = async (): Promise<number[]> =>
    ((await run('select n from t order by n')) as { n: number }[]).map(({ n }) => n)
  return { run, rows }
}

/** Closed after the test. */
export const drivers: readonly Driver[] = everyDriver.map((driver) => ({
  ...driver,
  async open(url, connections) {
    const opened = await driver.open(url, connections)
    atEnd(() => opened.end())
    return opened
  },
}))

export async function heldKeys(locks: Locks): Promise<string[]> {
  return (await locks.list()).locks.map(({ key }) => key)
}

/**
 * A transaction whose function goes on when its lease is lost: what it fails with, and how many of its statements were
 * answered after the loss.
 */
export async function goesOn({ transaction }: Opened): Promise<{ error: Error; answered: number }> {
  const locks = memoryLocks()
  let answered = 0
  const endless = async (tx: Tx, lease: Lease): Promise<void> => {
    void locks.forceRelease('key')
    for (;;) {
      await tx.run('insert into t values (1)')
      if (!lease.held) answered += 1
    }
  }
  const error = await failureOf(transaction(locks, 'key', endless, { fence: false }))
  return { error, answered }
}
