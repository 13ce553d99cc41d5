import type { MongoClient, MongoDb, MongoSession } from '../databases/mongo.ts'
import type { MysqlCallbacks, MysqlClient, MysqlConnection } from '../databases/mysql.ts'
import type { PgClient, PgPool } from '../databases/pg.ts'
import type { PostgresJs, PostgresJsQueryable } from '../databases/postgres-js.ts'
import type { SqliteDatabase } from '../databases/sqlite.ts'

/** What a query gives: its rows, or an object that has them. */
export type FenceRows = readonly unknown[] | { readonly rows: readonly unknown[] }

/** Runs one statement: how an ORM is asked. Placeholders are `$1`, `$2`, on MySQL and SQLite `?`, each used once, in order. */
export type FenceQuery = (text: string, values: string[]) => FenceRows | PromiseLike<FenceRows>

/** Where a guard keeps what it has seen. */
export type FenceDatabase =
  | PgPool
  | PgClient
  | PostgresJs
  | MysqlClient
  | SqliteDatabase
  | MongoDb
  | MongoClient
  | FenceQuery

/** The transaction that writes to the resource. */
export type FenceTransaction =
  | PgClient
  | PostgresJsQueryable
  | MysqlConnection
  | MysqlCallbacks<MysqlConnection>
  | SqliteDatabase
  | MongoSession
  | FenceQuery

/** A token, or a lease, which has one. */
export type Token = bigint | { readonly token: bigint }

export interface CheckOptions {
  /** Refuse an equal token too: each token passes once. Default: what `fence` was given, else false. */
  readonly strict?: boolean | undefined
}

/** A guard at a resource: it remembers the highest token that wrote there, and refuses a lower one. */
export interface Fence {
  /**
   * Creates the table, or collection, if it is not there, and finds out whether it can be used. Needed once, before a
   * transaction begins, if there is no second connection to create it through: `check` says so then.
   * Costs nothing once it has succeeded.
   */
  open(): Promise<void>

  /**
   * One statement inside the caller's transaction. Call it first, before anything is read. It waits for
   * other transactions that checked the same resource, or on MongoDB conflicts with them, then rejects with
   * STALE_TOKEN if a higher token has been seen. The token counts as seen once the transaction commits.
   */
  check(tx: FenceTransaction, resource: string, token: Token, options?: CheckOptions): Promise<void>

  /** The highest token that a committed transaction has shown for the resource; null if none has. */
  highest(resource: string): Promise<bigint | null>

  /** Removes what is known of a resource, and says whether there was anything. Any token passes then. */
  forget(resource: string): Promise<boolean>
}

/** A guard in SQLite, whose drivers are synchronous. */
export interface SqliteFence extends Fence {
  /** As `check`, but done on return: for `db.transaction(() => …)`, which takes no asynchronous function. */
  checkSync(tx: SqliteDatabase, resource: string, token: Token, options?: CheckOptions): void
}

/** MariaDB is `mysql`, too. */
export type FenceDialect = 'postgres' | 'mysql' | 'sqlite'

/** Where the table is. */
export interface FencePlace {
  /** Default `holdfast_fence`. */
  readonly table?: string | undefined
  /** Default `public`; on MySQL the database that the connection is in. SQLite has none. */
  readonly schema?: string | undefined
}

export interface FenceOptions extends FencePlace {
  /** Refuse an equal token too. Default false: the same holder may write again. */
  readonly strict?: boolean | undefined
  /** Create the table when it is first needed. Default true; `fenceSql` gives the statement. */
  readonly create?: boolean | undefined
  /** What a function speaks that is given as the database; otherwise it is plain to see. */
  readonly dialect?: FenceDialect | undefined
}

export interface MongoFenceOptions {
  /** Default `holdfast_fence`. */
  readonly collection?: string | undefined
  /** Refuse an equal token too. Default false: the same holder may write again. */
  readonly strict?: boolean | undefined
  /** Create the collection when it is first needed. Default true. */
  readonly create?: boolean | undefined
}
