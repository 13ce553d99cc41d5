import { LockError } from '../errors.ts'
import {
  isInTransaction,
  isPgClient,
  isPgPool,
  isUnconnected,
  type PgPool,
  transactionStatus,
} from '../databases/pg.ts'
import { lendValues } from '../databases/lent-values.ts'
import type { MongoClient, MongoDb } from '../databases/mongo.ts'
import { isMysqlClient, isMysqlPool, type MysqlPool, promised } from '../databases/mysql.ts'
import { MysqlSession } from '../databases/mysql-session.ts'
import { within } from '../databases/limit.ts'
import { hearErrors } from '../databases/pg-errors.ts'
import { isPostgresJs } from '../databases/postgres-js.ts'
import type { SqliteDatabase } from '../databases/sqlite.ts'
import type { FenceDatabase, FenceQuery } from './fence.ts'
import { askOn } from './mysql.ts'
import { rowsOf } from './rows.ts'
import { invalid } from './verdict.ts'

/** For a connection, and again for the answer. */
const LIMIT_MS = 5000

const RETURNS_ROWS = /\b(select|returning|explain)\b/

/** Statements apart from the caller's transaction. None of them hangs. */
export interface Lender {
  query(text: string, values?: string[]): Promise<readonly unknown[]>
  /** If there is this one connection only. Where there are more, `query` can run while a transaction is open. */
  readonly single?: {
    readonly what: 'client' | 'connection'
    /** Whether `query` would run inside an open transaction, as far as the client tells. */
    isEngaged(): boolean | Promise<boolean>
  }
}

export function lenderOf(
  db: Exclude<FenceDatabase, SqliteDatabase | MongoDb | MongoClient> | FenceQuery,
): Lender {
  if (isMysqlClient(db)) {
    const client = promised(db)
    if (isMysqlPool(client)) return { query: (text, values) => throughMysqlPool(client, text, values) }
    const session = new MysqlSession(client)
    const isEngaged = async (): Promise<boolean> => (await answered(session.status())).inTransaction
    return {
      query: (text, values) => answered(askOn(session, text, values)),
      single: { what: 'connection', isEngaged },
    }
  }
  if (isPgPool(db)) {
    hearErrors(db)
    return { query: (text, values) => throughPool(db, text, values) }
  }
  if (isPgClient(db)) {
    return {
      query: async (text, values = []) => {
        if (isUnconnected(db)) throw invalid('the client is not connected; await its connect() first')
        return (await lendValues(values, (lent) => answered(db.query({ text, values: lent })))).rows
      },
      single: { what: 'client', isEngaged: () => transactionStatus(db) === 'T' },
    }
  }
  const run: FenceQuery = isPostgresJs(db) ? (text, values) => db.unsafe(text, values as never[]) : db
  return {
    query: async (text, values = []) => {
      const result = await lendValues(values, (lent) => answered(Promise.resolve(run(text, lent))))
      // What MySQL has to say of a change is no row.
      return RETURNS_ROWS.test(text) ? rowsOf(result) : []
    },
  }
}

function throughPool(pool: PgPool, text: string, values?: string[]): Promise<readonly unknown[]> {
  return lend(pool, (query) => query(text, values))
}

/** What `use` does has a connection for itself. */
export async function lend<T>(pool: PgPool, use: (query: Lender['query']) => Promise<T>): Promise<T> {
  const client = await within(pool.connect(), LIMIT_MS, noConnection, (late) => late.release())
  // A client that loses its connection says so by an event as well, which ends the process if nobody listens.
  const ignore = (): void => undefined
  client.on('error', ignore)
  let sound = false
  try {
    // What somebody has left open in a connection of a pool is nobody's, and would take along what is done here.
    if (isInTransaction(client)) await answered(client.query({ text: 'rollback' }))
    const result = await use(
      async (text, values = []) => (await answered(client.query({ text, values }))).rows,
    )
    sound = true
    return result
  } finally {
    client.release(!sound)
    client.removeListener('error', ignore)
  }
}

async function throughMysqlPool(
  pool: MysqlPool,
  text: string,
  values?: string[],
): Promise<readonly unknown[]> {
  const take = async (): Promise<MysqlSession> => new MysqlSession(await pool.getConnection())
  const session = await within(take(), LIMIT_MS, noConnection, (late) => late.release())
  const stopListening = session.hearErrors()
  let sound = false
  try {
    // As in PostgreSQL; the commit would even make it last.
    await answered(session.query('rollback'))
    const rows = await answered(askOn(session, text, values))
    // For sessions that commit nothing by themselves.
    await answered(session.query('commit'))
    sound = true
    return rows
  } finally {
    stopListening()
    if (sound) session.release()
    else session.destroy()
  }
}

function noConnection(): LockError {
  return unanswered(
    `no connection of the pool became free within ${LIMIT_MS} ms; if transactions hold them all while they wait ` +
      'for this, call open() of the guard before the first of them, or make the pool larger',
  )
}

/** Bounds the wait for an answer. */
export function answered<T>(query: PromiseLike<T>): Promise<T> {
  return within(query, LIMIT_MS, () =>
    unanswered(
      `the database did not answer within ${LIMIT_MS} ms; if a transaction holds its only connection while it waits ` +
        'for this, call open() of the guard before it begins, or allow more connections',
    ),
  )
}

function unanswered(complaint: string): LockError {
  return new LockError('STORE_UNAVAILABLE', `fence: ${complaint}`)
}
