import { has } from './methods.ts'
import { resultName } from './sqlite-errors.ts'

/** A value that holdfast binds or reads. */
export type SqlValue = string | number | null

/**
 * The part of a prepared statement that better-sqlite3, libsql and `node:sqlite` have in common. Only
 * `SqlValue`s are bound; `unknown`, because TypeScript 5 finds `null` at odds with the `{}` that
 * better-sqlite3 and libsql declare there.
 */
export interface SqliteStatement {
  run(...values: unknown[]): unknown
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

/**
 * The part of a synchronous SQLite driver that holdfast needs: a `Database` of better-sqlite3 or
 * libsql, or a `DatabaseSync` of `node:sqlite`.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** A statement whose rows are objects; a connection of `node:sqlite` may be set to give arrays. */
export function prepare(db: SqliteDatabase, sql: string): SqliteStatement {
  const statement: SqliteStatement & { setReturnArrays?: (on: boolean) => void } = db.prepare(sql)
  statement.setReturnArrays?.(false)
  return statement
}

export function isSqliteDatabase(value: unknown): value is SqliteDatabase {
  return has(value, 'exec', 'prepare', 'close')
}

/** To be asked first: of a closed database libsql (0.5.29) ends the process, and `node:sqlite` throws at every question. */
export function isClosed(db: SqliteDatabase): boolean {
  // `open` of `node:sqlite` is a method.
  const { open, isOpen } = db as { open?: unknown; isOpen?: unknown }
  return open === false || isOpen === false
}

/** Whether a transaction is open; undefined where the driver does not tell, as earlier versions of `node:sqlite`. */
export function isInTransaction(db: SqliteDatabase): boolean | undefined {
  if (isClosed(db)) return false
  const { inTransaction, isTransaction } = db as { inTransaction?: boolean; isTransaction?: boolean }
  return inTransaction ?? isTransaction
}

/**
 * Takes the lock that every change needs, by a statement that changes nothing. Not prepared: a statement of libsql
 * (0.5.29) that fails with BUSY is not reset, keeps its view of the data open past the rollback, and no write ever
 * succeeds after that.
 */
export function lockForWriting(db: SqliteDatabase, changingNothing: string): void {
  db.exec(changingNothing)
}

/**
 * How long SQLite may wait, in this thread, for another transaction to end. Most take a tenth of this, and without any
 * wait SQLite gives up even where it only has to look again.
 */
export const BUSY_MS = 2

/** A driver may wait much longer (better-sqlite3: 5 s). Not on our account, until the result is called. */
export function lowerBusyTimeout(db: SqliteDatabase): () => void {
  if (isClosed(db)) return () => undefined
  const timeout = Number((prepare(db, 'pragma busy_timeout').get() as { timeout: number }).timeout)
  if (timeout === BUSY_MS) return () => undefined
  db.exec(`pragma busy_timeout = ${BUSY_MS}`)
  // A listener that heard of a loss meanwhile may have closed it.
  return () => void (isClosed(db) || db.exec(`pragma busy_timeout = ${timeout}`))
}

/** Runs a step that waits for nobody. */
export function atOnce<T>(db: SqliteDatabase, step: () => T): T {
  const restore = lowerBusyTimeout(db)
  try {
    return step()
  } finally {
    restore()
  }
}

/** Whether another connection is in the way for a moment. */
export function isSqliteBusy(error: unknown): boolean {
  const name = resultName(error)
  return name === 'BUSY' || name === 'LOCKED'
}
