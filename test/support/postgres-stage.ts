import pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { LocksOptions } from '../../src/options.ts'
import type { Store } from '../../src/store.ts'
import { postgresStore, type PostgresStoreOptions } from '../../src/stores/postgres/index.ts'
import { tcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import { PostgresProcess } from './postgres-process.ts'

const endings: (() => unknown)[] = []
const networks: TcpProxy[] = []
const lastEndings: (() => unknown)[] = []

afterEach(async () => {
  // First: some drivers wait for a dead connection to end, for ever.
  for (const proxy of networks.splice(0)) proxy.close()
  for (const end of endings.splice(0).reverse()) await end()
})

afterAll(async () => {
  for (const end of lastEndings.splice(0).reverse()) await end()
})

export function atEnd(end: () => unknown): void {
  endings.push(end)
}

/** After the last test of the file. */
export function atLast(end: () => unknown): void {
  lastEndings.push(end)
}

/** Closed after the test. */
export function locksOn(store: string | Store, options: LocksOptions = {}): Locks {
  const locks = createLocks(typeof store === 'string' ? postgresStore(store) : store, {
    logger: null,
    ...options,
  })
  atEnd(() => locks.close())
  return locks
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

/** The network before a server, gone after the test. */
export async function proxyTo(url: string): Promise<{ proxy: TcpProxy; url: string }> {
  const target = new URL(url)
  const proxy = await tcpProxy(Number(target.port))
  networks.push(proxy)
  target.port = String(proxy.port)
  return { proxy, url: target.href }
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

/** What a promise was rejected with. */
export async function failureOf(call: Promise<unknown>): Promise<Error & { code?: string }> {
  const result = await call.then(
    () => undefined,
    (error: Error) => error,
  )
  if (!result) throw new Error('this should have failed')
  return result
}

/** Waits for a condition, not for a guess of time. */
export async function until(what: string, holds: () => unknown, capMs = 20_000): Promise<void> {
  const end = performance.now() + capMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
