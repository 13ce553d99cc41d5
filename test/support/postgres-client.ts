import pg from 'pg'
import postgres from 'postgres'
import type { Store } from '../../src/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { endingWith } from './ending-with.ts'

export interface PostgresAddress {
  readonly url: string
  readonly driver: 'pg' | 'postgres' | 'url'
  /** Where to listen, if not there. */
  readonly listen?: string | boolean
}

/** A store on a client of its own, which ends with the store: each stands for a process. */
export default function client(address: unknown): Store {
  const { url, driver, listen = true } = address as PostgresAddress
  if (driver === 'url') return postgresStore(url, { listen })
  if (driver === 'pg') {
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    return endingWith(postgresStore(pool, { listen }), () => pool.end())
  }
  const sql = postgres(url, { max: 4, onnotice: () => {} })
  return endingWith(postgresStore(sql, { listen }), () => sql.end())
}
