import pg from 'pg'
import type { Locks } from '../../src/locks.ts'
import type { LocksOptions } from '../../src/options.ts'
import type { Store } from '../../src/store.ts'
import { postgresStore, type PostgresStoreOptions } from '../../src/stores/postgres/index.ts'
import { PostgresProcess } from './postgres-process.ts'
import { atEnd, atLast, locksOn as locksOf } from './stage.ts'

export { atEnd, atLast, failureOf, failureWithin, proxyTo, until } from './stage.ts'

/** Closed after the test. */
export function locksOn(store: string | Store, options: LocksOptions = {}): Locks {
  return locksOf(typeof store === 'string' ? postgresStore(store) : store, options)
}

/** Closed after the test. */
export function storeOn(db: Parameters<typeof postgresStore>[0], options?: PostgresStoreOptions): Store {
  const store = postgresStore(db, options)
  atEnd(() => store.close())
  return store
}

/** A pool as a user has it, ended after the test. */
export function poolOn(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options })
  atEnd(() => pool.ended || pool.end())
  return pool
}

export type Query = (text: string, ...values: unknown[]) => Promise<Record<string, unknown>[]>

/** For a whole file: looks at the database, and changes it, beside the store. Goes on after a restart. */
export function observe(url: string): Query {
  const pool = new pg.Pool({ connectionString: url, application_name: 'observer' })
  pool.on('error', () => {})
  atLast(() => pool.end())
  return async (text, ...values) => (await pool.query(text, values)).rows as Record<string, unknown>[]
}

/** Ended after the test. */
export async function processes(count: number): Promise<PostgresProcess[]> {
  const all = await Promise.all(Array.from({ length: count }, () => PostgresProcess.start()))
  atEnd(() => Promise.all(all.map((one) => one.end())))
  return all
}

export async function oneProcess(): Promise<PostgresProcess> {
  const [one] = await processes(1)
  return one as PostgresProcess
}
