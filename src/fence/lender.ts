import { LockError } from '../errors.ts'
import { isPgClient, isPgPool, isUnconnected, type PgPool, transactionStatus } from '../databases/pg.ts'
import type { MongoClient, MongoDb } from '../databases/mongo.ts'
import { within } from '../databases/limit.ts'
import { hearErrors } from '../databases/pg-errors.ts'
import { isPostgresJs } from '../databases/postgres-js.ts'
import type { FenceDatabase, FenceQuery } from './fence.ts'
import { rowsOf } from './rows.ts'
import { invalid } from './verdict.ts'

/** For a connection, and again for the answer. */
const LIMIT_MS = 5000

/** Statements apart from the caller's transaction. None of them hangs. */
export interface Lender {
  query(text: string, values?: string[]): Promise<readonly unknown[]>
  /** Whether `query` can run while a transaction is open: not if there is this one connection only. */
  readonly aside: boolean
  /** Whether `query` would run inside an open transaction, as far as the client tells. */
  readonly engaged: boolean
}

export function lenderOf(db: Exclude<FenceDatabase, { prepare: unknown } | MongoDb | MongoClient>): Lender {
  if (isPgPool(db)) {
    hearErrors(db)
    return { query: (text, values) => throughPool(db, text, values), aside: true, engaged: false }
  }
  if (isPgClient(db)) {
    return {
      query: async (text, values) => {
        if (isUnconnected(db)) throw invalid('the client is not connected; await its connect() first')
        return (await answered(db.query({ text, values: values ?? [] }))).rows
      },
      aside: false,
      get engaged() {
        return transactionStatus(db) === 'T'
      },
    }
  }
  const run: FenceQuery = isPostgresJs(db) ? (text, values) => db.unsafe(text, values as never[]) : db
  return {
    query: async (text, values = []) => rowsOf(await answered(Promise.resolve(run(text, values)))),
    aside: true,
    engaged: false,
  }
}

async function throughPool(pool: PgPool, text: string, values: string[] = []): Promise<readonly unknown[]> {
  const client = await within(
    pool.connect(),
    LIMIT_MS,
    () =>
      unanswered(
        `no connection of the pool became free within ${LIMIT_MS} ms; if transactions hold them all while they wait ` +
          'for this, call open() of the guard before the first of them, or make the pool larger',
      ),
    (late) => late.release(),
  )
  // A client that loses its connection says so by an event as well, which ends the process if nobody listens.
  const ignore = (): void => undefined
  client.on('error', ignore)
  let sound = false
  try {
    const { rows } = await answered(client.query({ text, values }))
    sound = true
    return rows
  } finally {
    client.release(!sound)
    client.removeListener('error', ignore)
  }
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
