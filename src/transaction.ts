import { has } from './databases/methods.ts'
import { isMongoClient, isMongoDb, type MongoClient, type MongoDb } from './databases/mongo.ts'
import { isMysqlClient, isMysqlPool, type MysqlClient, promised } from './databases/mysql.ts'
import {
  isPgClient,
  isPgPool,
  isUnconnected,
  type PgClient,
  type PgPool,
  type PgPoolClient,
} from './databases/pg.ts'
import { isPostgresJs, type PostgresJs } from './databases/postgres-js.ts'
import { isSqliteDatabase, type SqliteDatabase } from './databases/sqlite.ts'
import { isLentToStore } from './databases/sqlite-lent.ts'
import { LockError } from './errors.ts'
import type { Fence } from './fence/index.ts'
import type { AnyLease } from './bundle.ts'
import type { TransactionGuard, TransactionTerms } from './options.ts'
import { runManaged, type TransactionManager } from './transaction/managed.ts'
import { nested } from './transaction/nesting.ts'
import { type Body, checkTokens, inOrder, type Place } from './transaction/order.ts'
import { runInMongo } from './transaction/mongo.ts'
import { beginInMysqlPool, beginOnMysqlConnection } from './transaction/mysql.ts'
import { beginInPool, beginOnClient } from './transaction/pg.ts'
import { beginInPostgresJs } from './transaction/postgres-js.ts'
import { asOfNow } from './transaction/session.ts'
import { beginInSqlite } from './transaction/sqlite.ts'

export type { TransactionManager } from './transaction/managed.ts'

/** What `transaction` can begin and commit on by itself; for all else, give a `TransactionManager`. */
export type TransactionDatabase =
  | PgPool
  | PgClient
  | PostgresJs
  | MysqlClient
  | SqliteDatabase
  | MongoClient
  | MongoDb

/**
 * What the function works with: a client of the pool, the transaction of postgres.js, a session of MongoDB, or the
 * connection given; of mysql2 always that with promises.
 */
export type TransactionOf<D> = D extends PgPool
  ? LentBy<D>
  : D extends { promise(): infer P }
    ? TransactionOf<P>
    : D extends { getConnection(): Promise<infer C> }
      ? C
      : D extends { begin(options: string, work: (tx: infer X) => never): unknown }
        ? X
        : D extends { startSession(...args: never[]): infer S }
          ? S
          : D extends { readonly client: { startSession(...args: never[]): infer S } }
            ? S
            : D

// A pool's `connect` has a second signature, and types are inferred from the last one.
type LentBy<P> = P extends { connect: { (): Promise<infer C>; (callback: never): void } }
  ? unknown extends C
    ? PgPoolClient
    : C
  : PgPoolClient

/** Told before the options are looked at: in the wrong order they would be blamed. */
export function checkBody(body: unknown, options: unknown): void {
  if (typeof body === 'function') return
  throw invalid(
    typeof options === 'function'
      ? 'the function comes third and the options last: transaction(key, db, fn, options)'
      : 'give a function to run in the transaction: transaction(key, db, fn, options)',
  )
}

/** What is to be done under the lock. Bad input is refused here, before there is one. */
export function planTransaction(
  db: unknown,
  body: Body,
  { isolation, fence }: TransactionTerms,
): (lease: AnyLease) => Promise<unknown> {
  const place = placeOf(db)
  if (place) {
    return async (lease) => {
      const guard = fence === null ? await defaultGuard(db as TransactionDatabase) : fence || null
      const { key, keys } = lease
      const terms = asOfNow({ key, lease, isolation })
      const { connection } = place
      return nested({ keys, connection, guard }, () => inOrder(place, terms, guard, body))
    }
  }
  if (isMongoDb(db) || isMongoClient(db)) {
    if (isolation !== null)
      throw invalid('isolation: a transaction of MongoDB always sees a snapshot; leave the option out')
    return async (lease) => {
      const guard = fence === null ? await mongoGuard(db) : fence || null
      const { key, keys } = lease
      const terms = asOfNow({ key, lease, isolation })
      const client = isMongoDb(db) ? db.client : db
      return nested({ keys, connection: null, guard }, () => runInMongo(client, terms, guard, body))
    }
  }
  const manager = managerOf(db)
  if (isolation !== null) throw invalid('isolation: set it where your transaction manager begins')
  return (lease) => underManager(manager, lease, fence || null, body)
}

function underManager(
  manager: TransactionManager<never>,
  lease: AnyLease,
  guard: TransactionGuard | null,
  body: Body,
): Promise<unknown> {
  const attempt = async (tx: never): Promise<unknown> => {
    lease.assertHeld()
    if (guard) await checkTokens(guard, tx, lease)
    lease.assertHeld()
    const result = await body(tx, lease)
    lease.assertHeld()
    return result
  }
  return nested({ keys: lease.keys, connection: null, guard }, async () => {
    await guard?.open?.()
    return runManaged(lease.key, manager, lease, attempt)
  })
}

function placeOf(db: unknown): Place | null {
  const pool = { connection: null, opensGuard: true }
  // Before pg: what it has, a connection of MySQL has as well.
  if (isMysqlClient(db)) {
    const client = promised(db)
    return isMysqlPool(client)
      ? { ...pool, begin: (terms) => beginInMysqlPool(client, terms) }
      : { ...pool, connection: client, begin: (terms) => beginOnMysqlConnection(client, terms) }
  }
  if (isPostgresJs(db)) return { ...pool, begin: (terms) => beginInPostgresJs(db, terms) }
  if (isPgPool(db)) return { ...pool, begin: (terms) => beginInPool(db, terms) }
  if (isPgClient(db) && isUnconnected(db))
    throw invalid('the client is not connected; await its connect() first, or give a pool')
  if (isPgClient(db)) return { ...pool, connection: db, begin: (terms) => beginOnClient(db, terms) }
  if (!isSqliteDatabase(db)) return null
  if (isLentToStore(db)) {
    throw invalid(
      'this database was given to sqliteStore, whose locks could not be renewed while the transaction is open; keep ' +
        'the locks in a file of their own',
    )
  }
  return { connection: db, opensGuard: false, begin: (terms) => beginInSqlite(db, terms) }
}

function managerOf(db: unknown): TransactionManager<never> {
  // Knex is a function itself.
  for (const [method, how] of Object.entries(BUILDERS)) {
    if (has(db, method)) throw invalid(`to use the transactions of a query builder, give a function: ${how}`)
  }
  if (typeof db === 'function') return db as TransactionManager<never>
  throw invalid(
    'give a Pool or a Client of pg, postgres.js, a pool or connection of mysql2 or mariadb, a SQLite database, a ' +
      'MongoClient or its Db, or a transaction manager',
  )
}

const BUILDERS = {
  $transaction: 'work => prisma.$transaction(work)',
  transaction: 'work => db.transaction(work), with Kysely work => db.transaction().execute(work)',
}

const guards = new WeakMap<object, Fence>()

/** One for each database: it looks for its table only once. */
async function defaultGuard(db: TransactionDatabase): Promise<Fence> {
  const { fence } = await import('./fence/index.ts')
  const guard = guards.get(db) ?? fence(db)
  guards.set(db, guard)
  return guard
}

/** `db()` makes a new object each time, so that the name says which one it is. */
const mongoGuards = new WeakMap<object, Map<string, Fence>>()

async function mongoGuard(given: MongoClient | MongoDb): Promise<Fence> {
  const { fence } = await import('./fence/index.ts')
  const db = isMongoDb(given) ? given : given.db()
  const named = mongoGuards.get(db.client) ?? new Map<string, Fence>()
  mongoGuards.set(db.client, named)
  const guard = named.get(db.databaseName) ?? fence(db)
  named.set(db.databaseName, guard)
  return guard
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `transaction: ${message}`)
}
