import pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { LocksOptions } from '../../src/options.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { type Driver, everyDriver } from './transaction-drivers.ts'

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

export function atEnd(end: () => unknown): void {
  endings.push(end)
}

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

export function memoryLocks(options: LocksOptions = {}): Locks {
  const locks = createLocks(memoryStore(), { logger: null, ...options })
  atEnd(() => locks.close())
  return locks
}

export async function heldKeys(locks: Locks): Promise<string[]> {
  return (await locks.list()).locks.map(({ key }) => key)
}

/** Waits for a condition, not for a guess of time. */
export async function until(what: string, holds: () => unknown, capMs = 20_000): Promise<void> {
  const end = performance.now() + capMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
