import { existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeError, LockError } from '../../errors.ts'
import {
  BUSY_MS,
  isInTransaction,
  lockForWriting,
  lowerBusyTimeout,
  prepare,
  type SqliteDatabase,
  type SqliteStatement,
  type SqlValue,
} from '../../databases/sqlite.ts'
import type { OpenDatabase } from './driver.ts'
import { FileMoved, isMisfit } from './failures.ts'
import { identify, type Identity, same } from './file.ts'
import type { Sql } from './schema.ts'

const OPEN_TRIES = 5
interface Place {
  readonly owned: boolean
  readonly path: string
  readonly file: string
  readonly identity: Identity | undefined
}

/** One open database. Every call is synchronous and short; what stays BUSY throws. */
export class Connection {
  /** Where the data is, as SQLite sees it: symbolic links are resolved. */
  readonly file: string
  readonly sql: Sql
  readonly #db: SqliteDatabase
  readonly #owned: boolean
  /** Where the data should be. */
  readonly #path: string
  readonly #identity: Identity | undefined
  readonly #statements = new Map<string, SqliteStatement>()
  #ended = false
  /** In a deferred transaction that has not changed anything yet. */
  #onlyRead = false

  private constructor(db: SqliteDatabase, sql: Sql, at: Place) {
    this.#db = db
    this.sql = sql
    this.#owned = at.owned
    this.#path = at.path
    this.file = at.file
    this.#identity = at.identity
  }

  /** Opens the file, creating it if need be. Many processes may do so at once. */
  static open(open: OpenDatabase, path: string, sql: Sql): Connection {
    if (!statSync(dirname(path), { throwIfNoEntry: false })) {
      throw new LockError(
        'STORE_UNAVAILABLE',
        `the sqlite store cannot use ${path}: its folder does not exist; create it`,
      )
    }
    for (let tries = 0; tries < OPEN_TRIES; tries += 1) {
      const before = identify(path)
      const db = open(path)
      const identity = identify(path)
      try {
        if (!identity) throw new FileMoved(path)
        const connection = new Connection(db, sql, { owned: true, path, file: realpathSync(path), identity })
        connection.#setUp()
        // SQLite does not tell which file it opened. The same one before and after must be it; a file
        // that was not there before is opened again, to be sure.
        if (same(before, identity)) return connection.#ready()
        db.close()
      } catch (error) {
        db.close()
        throw same(identity, identify(path)) ? error : new FileMoved(path)
      }
    }
    throw new FileMoved(path)
  }

  /** Uses a database that the user opened; its settings are theirs and stay as they are. */
  static adopt(db: SqliteDatabase, file: string, identity: Identity | undefined, sql: Sql): Connection {
    const connection = new Connection(db, sql, { owned: false, path: file, file, identity })
    connection.transaction('immediate', () => connection.#createTable())
    return connection
  }

  /** False once the path leads elsewhere: whatever happens here, other processes do not see it. */
  get inPlace(): boolean {
    return !this.#ended && same(this.#identity, identify(this.#path))
  }

  /** Changes whenever another connection has committed, never by what this one does. */
  get version(): number {
    return Number((this.get('pragma data_version') as { data_version: number }).data_version)
  }

  /**
   * All or nothing. A `deferred` transaction takes the write lock with its first change, so one that
   * changes nothing waits for nobody; it is BUSY, too, if the data changed after its first look.
   */
  transaction<T>(mode: 'deferred' | 'immediate' | 'exclusive', work: () => T): T {
    // Not after it as well: what is granted just before the file goes is lost like all that is held.
    if (!this.inPlace) throw this.#moved()
    const restore = this.#owned ? undefined : this.#takeOver()
    try {
      this.#begin(mode)
      this.#onlyRead = mode === 'deferred'
      try {
        const result = work()
        this.#db.exec('commit')
        return result
      } catch (error) {
        this.#rollBack()
        // Files that vanish under SQLite make it fail in many ways.
        throw this.inPlace ? error : this.#moved()
      }
    } finally {
      restore?.()
    }
  }

  run(sql: string, ...values: SqlValue[]): void {
    if (this.#onlyRead) lockForWriting(this.#db, this.sql.lock)
    this.#onlyRead = false
    this.#prepare(sql).run(...values)
  }

  get(sql: string, ...values: SqlValue[]): unknown {
    return this.#prepare(sql).get(...values)
  }

  all(sql: string, ...values: SqlValue[]): unknown[] {
    return this.#prepare(sql).all(...values)
  }

  /** Whether the user's own transaction is open; some drivers do not tell. */
  get occupied(): boolean {
    return !this.#owned && isInTransaction(this.#db) === true
  }

  close(): void {
    if (this.#ended) return
    this.#ended = true
    this.#statements.clear()
    if (this.#owned) this.#db.close()
  }

  /**
   * Prepares no statement: libsql (0.5.29) keeps the file open after `close()` until the last one is
   * garbage, and this is tried again and again while something is wrong with the file.
   */
  #setUp(): void {
    this.#db.exec(`pragma busy_timeout = ${BUSY_MS}`)
    // Commits are not flushed to the disk one by one. All processes see them at once; only a power cut
    // can lose the last ones, and it ends every holder on this machine as well. The file stays whole.
    this.#db.exec('pragma synchronous = normal')
    // The log is copied into the file, and both are flushed, in this thread: little and often, not the
    // usual 4 MB at once, which takes up to 100 ms on a slow disk.
    this.#db.exec('pragma wal_autocheckpoint = 250')
    this.#removeLeftover()
    this.#db.exec('pragma journal_mode = wal')
    this.transaction('immediate', () => this.#createTable())
  }

  /**
   * A file that was deleted alone leaves its -shm behind, and processes that still have the old file open
   * go on using it. Sharing it would mix up two databases.
   */
  #removeLeftover(): void {
    const leftover = `${this.file}-shm`
    const isEmpty = (): boolean => statSync(this.#path, { throwIfNoEntry: false })?.size === 0
    if (!isEmpty() || !existsSync(leftover)) return
    this.transaction('exclusive', () => {
      // Then nobody has opened the new file's own: that takes a page in the file, and its lock is ours.
      if (isEmpty()) rmSync(leftover, { force: true })
    })
  }

  #ready(): this {
    const { journal_mode: mode } = this.get('pragma journal_mode') as { journal_mode: string }
    if (mode === 'wal') return this
    throw new LockError(
      'STORE_UNAVAILABLE',
      `the sqlite store cannot use ${this.file}: SQLite's write-ahead log does not work there; ` +
        'put the file on a local disk, not on a network drive',
    )
  }

  #createTable(): void {
    try {
      this.#db.exec(this.sql.create)
      // Fails if the table is another one, or if nothing can be written: here, not at the first lock.
      this.#db.exec(this.sql.touchFence)
    } catch (error) {
      throw isMisfit(error) ? wrongTable(this.sql.table, this.file, error) : error
    }
  }

  #takeOver(): () => void {
    if (this.occupied) throw inOwnTransaction(this.file)
    return lowerBusyTimeout(this.#db)
  }

  #begin(mode: string): void {
    try {
      this.#db.exec(`begin ${mode}`)
    } catch (error) {
      throw error instanceof Error && /within a transaction/.test(error.message)
        ? inOwnTransaction(this.file)
        : error
    }
  }

  #rollBack(): void {
    try {
      this.#db.exec('rollback')
    } catch {
      // After some errors SQLite has already done so. The first error is the one that counts.
    }
  }

  #moved(): Error {
    if (this.#owned) return new FileMoved(this.#path)
    return new LockError(
      'STORE_UNAVAILABLE',
      `the sqlite store cannot use ${this.#path}: it was deleted or replaced; open the database again and create a ` +
        'new store with it',
    )
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = prepare(this.#db, sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

function inOwnTransaction(file: string): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the sqlite store cannot use ${file} now: the database that was given to sqliteStore has a transaction of its own ` +
      'open, which locks must not become part of; end it before you await, or give holdfast a connection of its own',
  )
}

function wrongTable(table: string, file: string, cause: unknown): LockError {
  return new LockError(
    'INVALID_OPTION',
    `sqliteStore: the table ${table} in ${file} is not one of holdfast's: ${describeError(cause)}; ` +
      'name another with the option table',
    { cause },
  )
}
