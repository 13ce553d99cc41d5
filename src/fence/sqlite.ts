import { setTimeout } from 'node:timers/promises'
import { describeError, LockError } from '../errors.ts'
import { has } from '../databases/methods.ts'
import {
  atOnce,
  isClosed,
  isInTransaction,
  isSqliteBusy,
  isSqliteDatabase,
  lockForWriting,
  prepare,
  type SqliteDatabase,
} from '../databases/sqlite.ts'
import type { CheckOptions, FenceQuery, FenceRows, FenceTransaction, SqliteFence, Token } from './fence.ts'
import { answered } from './lender.ts'
import { rowsOf, seenIn, tokenIn } from './rows.ts'
import type { SqliteFenceSql } from './sql.ts'
import { isMissing, tableProblem, unavailable } from './table-problem.ts'
import { checkResource, type Claim, claimOf, invalid, judge, type Manner, outside } from './verdict.ts'

/** How long to try while another connection writes. */
const PATIENCE_MS = 5000
const PAUSE_MS = 10

type Database = SqliteDatabase | FenceQuery
type Result = FenceRows | PromiseLike<FenceRows>

const NOTHING: FenceRows = []

/**
 * SQLite has one writer at a time, and a statement that fails leaves the transaction alone. So a table that
 * is missing is created on the spot, by the transaction that misses it.
 */
export class SqliteGuard implements SqliteFence {
  readonly #db: Database
  readonly #sql: SqliteFenceSql
  readonly #manner: Manner

  constructor(db: Database, sql: SqliteFenceSql, manner: Manner) {
    this.#db = db
    this.#sql = sql
    this.#manner = manner
  }

  async open(): Promise<void> {
    if (this.#manner.create) await this.#ask((db) => this.#create(db))
    // Compiles the check without running it: fails if the table is not there, or is another one.
    const { check } = this.#sql
    await this.#ask((db) => {
      if (!isSqliteDatabase(db)) return db(`explain ${check}`, ['open', '1'])
      prepare(db, check)
      return NOTHING
    })
  }

  async check(tx: FenceTransaction, resource: string, token: Token, options?: CheckOptions): Promise<void> {
    if (isSqliteDatabase(tx)) return this.checkSync(tx, resource, token, options)
    const claim = claimOf(resource, token, options, this.#manner.strict)
    if (!isQuery(tx)) throw noTransaction()
    const show = async (): Promise<bigint> => seenIn(rowsOf(await tx(this.#sql.check, valuesOf(claim))))
    const seen = await show().catch(async (error: unknown) => {
      if (!isMissing(error) || !this.#manner.create) throw tableProblem(error, this.#sql) ?? error
      await tx(this.#sql.create, [])
      return show()
    })
    judge(claim, seen)
  }

  checkSync(tx: SqliteDatabase, resource: string, token: Token, options?: CheckOptions): void {
    const claim = claimOf(resource, token, options, this.#manner.strict)
    if (!isSqliteDatabase(tx)) throw noTransaction()
    if (!inTransaction(tx)) throw outside('begin one on this database first')
    let seen: bigint
    try {
      this.#lock(tx)
      seen = seenIn(prepare(tx, this.#sql.check).all(...valuesOf(claim)))
    } catch (error) {
      throw tableProblem(error, this.#sql) ?? error
    }
    judge(claim, seen)
  }

  async highest(resource: string): Promise<bigint | null> {
    const name = checkResource(resource)
    return tokenIn(await this.#askIfThere((db) => run(db, this.#sql.highest, [name])))
  }

  async forget(resource: string): Promise<boolean> {
    const name = checkResource(resource)
    const forget = (db: Database): Result => run(db, this.#sql.forget, [name])
    const rows = await this.#askIfThere((db) =>
      isSqliteDatabase(db) ? this.#writing(db, forget) : forget(db),
    )
    return tokenIn(rows) !== null
  }

  #lock(db: SqliteDatabase): void {
    try {
      lockForWriting(db, this.#sql.lock)
    } catch (error) {
      if (!isMissing(error) || !this.#manner.create) throw error
      db.exec(this.#sql.create)
    }
  }

  /** In the caller's transaction if there is one. */
  #writing<T>(db: SqliteDatabase, work: (db: SqliteDatabase) => T): T {
    if (inTransaction(db)) {
      lockForWriting(db, this.#sql.lock)
      return work(db)
    }
    db.exec('begin immediate')
    try {
      const result = work(db)
      db.exec('commit')
      return result
    } catch (error) {
      if (inTransaction(db)) db.exec('rollback')
      throw error
    }
  }

  #create(db: Database): Result {
    if (!isSqliteDatabase(db)) return db(this.#sql.create, [])
    db.exec(this.#sql.create)
    return NOTHING
  }

  /** Without the table nothing was ever seen, which is no mistake where the first check creates it. */
  #askIfThere(work: (db: Database) => Result): Promise<readonly unknown[]> {
    return this.#ask(async (db) => {
      try {
        return await work(db)
      } catch (error) {
        if (this.#manner.create && isMissing(error)) return NOTHING
        throw error
      }
    })
  }

  /** Apart from checks; tries again while another connection is in the way. */
  async #ask(work: (db: Database) => Result): Promise<readonly unknown[]> {
    const db = this.#db
    for (const end = performance.now() + PATIENCE_MS; ;) {
      try {
        return rowsOf(
          await answered(Promise.resolve(isSqliteDatabase(db) ? atOnce(db, () => work(db)) : work(db))),
        )
      } catch (error) {
        if (!isSqliteBusy(error) || performance.now() > end) throw this.#failure(error)
      }
      await setTimeout(PAUSE_MS)
    }
  }

  #failure(error: unknown): LockError {
    if (error instanceof LockError) return error
    return (
      tableProblem(error, this.#sql) ??
      unavailable(`the database cannot be asked for ${this.#sql.table}: ${describeError(error)}`, error)
    )
  }
}

function isQuery(value: unknown): value is FenceQuery {
  return typeof value === 'function' && !has(value, 'raw') && !has(value, 'unsafe')
}

function run(db: Database, text: string, values: string[]): Result {
  return isSqliteDatabase(db) ? prepare(db, text).all(...values) : db(text, values)
}

function valuesOf({ resource, token }: Claim): string[] {
  return [resource, String(token)]
}

function inTransaction(db: SqliteDatabase): boolean {
  if (isClosed(db)) throw invalid('the SQLite database is closed')
  const known = isInTransaction(db)
  if (known !== undefined) return known
  // BEGIN inside of a transaction fails and does nothing else.
  try {
    db.exec('begin')
  } catch {
    return true
  }
  db.exec('rollback')
  return false
}

function noTransaction(): LockError {
  return invalid(
    'check: give the SQLite database that has begun a transaction, or for an ORM a function (text, values) => rows ' +
      'that runs a statement in its transaction',
  )
}
