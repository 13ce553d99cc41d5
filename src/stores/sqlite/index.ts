import { checkNames } from '../../option-check.ts'
import { LockError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import { isSqliteDatabase, type SqliteDatabase } from '../../databases/sqlite.ts'
import { fileOf, identify } from './file.ts'
import { locate } from './location.ts'
import { checkTable, DEFAULT_TABLE, sqlFor } from './schema.ts'
import { type Source, SqliteStore } from './store.ts'

export type { SqliteDatabase, SqliteStatement, SqlValue } from '../../databases/sqlite.ts'

export interface SqliteStoreOptions {
  /** The table that holds the locks; created if absent. Default `holdfast_locks`. */
  readonly table?: string | undefined
  /** Milliseconds since 1970. For tests that move time by hand; all users of a file need the same. */
  readonly now?: (() => number) | undefined
}

/**
 * Locks in a SQLite file, for all processes of one machine; never on a network drive.
 *
 * Given a path or `file:` URL, the store opens the file itself (with `node:sqlite`, else libsql) and
 * closes it. Given a database of better-sqlite3, libsql or `node:sqlite`, it uses that between your own
 * statements, adds one table, leaves all settings alone and never closes it; the database should be in
 * WAL mode.
 *
 * The machine's clock is the store's: a lease ends early by as much as the clock is put forward, just
 * as on a database server. Putting it back is harmless. (A monotonic clock starts anew with each boot, and
 * nothing says that two processes have the same.)
 *
 * Within one process, never open the same file with two different drivers: on closing it, one of them
 * would end the file locks of the other.
 */
export function sqliteStore(pathOrDb: string | SqliteDatabase, options: SqliteStoreOptions = {}): Store {
  checkNames('sqliteStore', options, ['table', 'now'])
  const { now = Date.now } = options
  if (typeof now !== 'function') throw invalid('now: give a function that returns milliseconds since 1970')
  const sql = sqlFor(checkTable(options.table ?? DEFAULT_TABLE))
  return new SqliteStore({ ...sourceOf(pathOrDb), sql, now })
}

function sourceOf(given: unknown): Pick<Source, 'file' | 'lent'> {
  if (typeof given === 'string') return { file: locate(given) }
  if (!isSqliteDatabase(given)) {
    throw invalid('give the path of a file, or a database of better-sqlite3, libsql or node:sqlite')
  }
  let file: string
  try {
    file = fileOf(given)
  } catch (cause) {
    throw new LockError(
      'INVALID_OPTION',
      'sqliteStore: the database does not answer; it must be open, and its driver must not be asynchronous',
      { cause },
    )
  }
  if (file === '') {
    throw invalid(
      'the database is in memory, where other processes cannot share it; open a file, or use memoryStore()',
    )
  }
  return { file, lent: { db: given, identity: identify(file) } }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `sqliteStore: ${message}`)
}
