import pg from 'pg'
import postgres from 'postgres'
import type { postgresStore } from '../../src/stores/postgres/index.ts'
import { atEnd } from './stage.ts'

export interface ClientKind {
  readonly name: string
  /** Whether a lost connection is replaced by another. */
  readonly pooled: boolean
  /** What the store is given; ended after the test. */
  open(url: string): Promise<Parameters<typeof postgresStore>[0]>
}

/** Everything that the store takes, as a user may have it. */
export const everyClient: readonly ClientKind[] = [
  { name: 'a URL', pooled: true, open: async (url) => url },
  {
    name: 'a pool of pg',
    pooled: true,
    async open(url) {
      const pool = new pg.Pool({ connectionString: url, max: 4 })
      // Before and after the store has it, its idle connections are its owner's business.
      pool.on('error', () => {})
      atEnd(() => pool.end())
      return pool
    },
  },
  {
    name: 'a client of pg',
    pooled: false,
    async open(url) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      // It says that its connection was lost, which its owner has to listen to.
      client.on('error', () => {})
      atEnd(() => client.end())
      return client
    },
  },
  {
    name: 'postgres.js',
    pooled: true,
    async open(url) {
      // As docs/stores/postgres.md says: a connection that is cut while it fetches types rejects with nobody to hear.
      const sql = postgres(url, { max: 4, onnotice: () => {}, connect_timeout: 2, fetch_types: false })
      atEnd(() => sql.end({ timeout: 0 }))
      return sql
    },
  },
]
