import pg from 'pg'
import postgres from 'postgres'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import type { TransactionOptions } from '../../src/options.ts'

/** What a transaction is used for in tests, alike for all drivers. */
export interface Tx {
  run(text: string): Promise<unknown[]>
}

export interface Driver {
  readonly name: string
  /** Whether it can have several transactions at once. */
  readonly pooled: boolean
  /** `connections`: how many it may open. */
  open(url: string, connections?: number): Promise<Opened>
}

export interface Opened {
  readonly db: unknown
  transaction<T>(
    locks: Locks,
    key: string,
    body: (tx: Tx, lease: Lease) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  /** Outside of any transaction of holdfast. */
  run(text: string): Promise<unknown[]>
  end(): Promise<void>
}

export const everyDriver: readonly Driver[] = [
  {
    name: 'a pool of pg',
    pooled: true,
    async open(url, connections = 10) {
      const pool = new pg.Pool({ connectionString: url, max: connections })
      pool.on('error', () => undefined)
      return {
        db: pool,
        transaction: (locks, key, body, options) =>
          locks.transaction(key, pool, (tx, lease) => body({ run: pgRun(tx) }, lease), options),
        run: async (text) => (await pool.query(text)).rows,
        end: () => pool.end(),
      }
    },
  },
  {
    name: 'a client of pg',
    pooled: false,
    async open(url) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => undefined)
      await client.connect()
      return {
        db: client,
        transaction: (locks, key, body, options) =>
          locks.transaction(key, client, (tx, lease) => body({ run: pgRun(tx) }, lease), options),
        run: async (text) => (await client.query(text)).rows,
        end: () => client.end(),
      }
    },
  },
  {
    name: 'postgres.js',
    pooled: true,
    async open(url, connections = 10) {
      const sql = postgres(url, { max: connections, onnotice: () => undefined, fetch_types: false })
      return {
        db: sql,
        transaction: (locks, key, body, options) => {
          const run = async (tx: postgres.TransactionSql, text: string): Promise<unknown[]> => tx.unsafe(text)
          return locks.transaction(
            key,
            sql,
            (tx, lease) => body({ run: (text) => run(tx, text) }, lease),
            options,
          )
        },
        run: async (text) => sql.unsafe(text),
        end: () => sql.end({ timeout: 0 }),
      }
    },
  },
]

function pgRun(client: pg.ClientBase): (text: string) => Promise<unknown[]> {
  return async (text) => (await client.query(text)).rows
}
