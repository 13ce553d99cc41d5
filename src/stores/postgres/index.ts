import { type PgClient, type PgPool, isPgClient, isPgPool } from '../../databases/pg.ts'
import { isPostgresJs, type PostgresJs } from '../../databases/postgres-js.ts'
import { checkDuration, type Duration } from '../../duration.ts'
import { checkFlag, checkNames } from '../../option-check.ts'
import { LockError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import type { Database } from './database.ts'
import { OwnDatabase } from './own-client.ts'
import { PgClientDatabase } from './pg-client.ts'
import { PgPoolDatabase } from './pg-pool.ts'
import { PostgresJsDatabase } from './postgres-js.ts'
import { createSchema, createTable, namesFrom } from './schema.ts'
import { PostgresStore } from './store.ts'
import { checkUrl } from './url.ts'

export type { PgClient, PgPool, PgPoolClient, PgQuery } from '../../databases/pg.ts'
export type { PostgresJs, PostgresJsQuery, PostgresJsQueryable } from '../../databases/postgres-js.ts'

export interface PostgresStoreOptions {
  /** Default `public`. */
  readonly schema?: string | undefined
  /** Default `holdfast_locks`. */
  readonly table?: string | undefined
  /** How long a record stays after its key came free; that is what keeps tokens rising. Default `1h`, at least `1m`. */
  readonly keep?: Duration | undefined
  /** Whether to create schema and table if they are absent. Default true; see `postgresSql`. */
  readonly create?: boolean | undefined
  /**
   * Whether waiters are woken by LISTEN, on one more connection like those given. Default true. Behind a pooler that
   * shares connections between transactions, give the URL of the server itself; without it the store polls.
   */
  readonly listen?: boolean | string | undefined
}

/** Shorter, and a slow statement could outlast a record that it relies on. */
const MIN_KEEP_MS = 60_000

/**
 * Locks in a table of PostgreSQL 13 or later. Takes a `Pool` or a connected `Client` of `pg`, an instance of
 * postgres.js, which stay yours to close, or a URL, for which it opens a small pool of its own.
 */
export function postgresStore(
  poolOrUrl: string | PgPool | PgClient | PostgresJs,
  options: PostgresStoreOptions = {},
): Store {
  checkNames('postgresStore', options, OPTIONS)
  const create = checkFlag('postgresStore: create', options.create, true)
  const { keep = '1h', listen = true } = options
  const database = databaseOf(poolOrUrl)
  return new PostgresStore({
    database,
    ear: earOf(listen, database),
    names: namesFrom(options, 'postgresStore'),
    keepMs: checkDuration(keep, { name: 'keep', min: MIN_KEEP_MS }),
    create,
  })
}

const OPTIONS = ['schema', 'table', 'keep', 'create', 'listen']

/** What a store with `create: false` expects, as SQL: for a migration, or for the one who has the rights. */
export function postgresSql(options: Pick<PostgresStoreOptions, 'schema' | 'table'> = {}): string {
  const names = namesFrom(options, 'postgresSql')
  return `${createSchema(names)};\n${createTable(names)};\n`
}

function databaseOf(given: unknown): Database {
  if (typeof given === 'string') {
    checkUrl(given, 'postgresStore')
    return new OwnDatabase(given)
  }
  if (isPostgresJs(given)) return new PostgresJsDatabase(given)
  if (isPgPool(given)) return new PgPoolDatabase(given)
  if (isPgClient(given)) return new PgClientDatabase(given)
  throw invalid(
    "give a Pool or Client of pg, an instance of postgres.js, or a URL such as 'postgres://localhost/app'",
  )
}

function earOf(listen: unknown, database: Database): Database | undefined {
  if (listen === true) return database
  if (listen === false) return undefined
  if (typeof listen !== 'string') throw invalid('listen: give true, false, or the URL of the server itself')
  checkUrl(listen, 'postgresStore: listen')
  return new OwnDatabase(listen)
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `postgresStore: ${message}`)
}
