import { atOnce, isInTransaction, isSqliteBusy, type SqliteDatabase } from '../databases/sqlite.ts'
import { endedInside } from './control.ts'
import { pause, TimedOut } from './limit.ts'
import { alreadyInside, cannotBegin, notCommitted, notHeld, type Session, type Terms } from './session.ts'

const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 50

/**
 * On the user's connection, which has the write lock of the whole file from now on. The caller sees to it that
 * no other transaction of ours is on it.
 */
export async function beginInSqlite(db: SqliteDatabase, terms: Terms): Promise<Session> {
  try {
    // Throws on a closed database of node:sqlite.
    if (isInTransaction(db)) throw alreadyInside(terms.key)
    await untilFree(db, terms, () => db.exec('begin immediate'))
  } catch (error) {
    if (error instanceof Error && /within a transaction/.test(error.message)) throw alreadyInside(terms.key)
    throw cannotBegin(terms.key, error)
  }
  return new SqliteSession(db, terms)
}

class SqliteSession implements Session {
  readonly tx: SqliteDatabase
  readonly broken = null
  readonly lossIn = (): null => null
  readonly #terms: Terms
  #over = false

  constructor(db: SqliteDatabase, terms: Terms) {
    this.tx = db
    this.#terms = terms
  }

  async commit(): Promise<void> {
    const { key, lease } = this.#terms
    try {
      // Without a write-ahead log it waits for those who read.
      await untilFree(this.tx, this.#terms, () => {
        if (!lease.held) throw notHeld(this.#terms)
        this.tx.exec('commit')
      })
    } catch (error) {
      // Says the same as asking before, and every driver says it.
      if (error instanceof Error && /no transaction is active/.test(error.message)) {
        throw endedInside(key, error)
      }
      if (!(error instanceof TimedOut)) throw error
      throw notCommitted(key, error)
    }
    this.#over = true
  }

  async rollback(): Promise<void> {
    if (this.#over) return
    this.#over = true
    try {
      this.tx.exec('rollback')
    } catch {
      // After some errors SQLite has already done so. The first error is the one that counts.
    }
  }
}

/** Waits between tries, not in the driver: that would stop the thread, and with it every renewal. */
async function untilFree(db: SqliteDatabase, { lease, stepMs }: Terms, step: () => unknown): Promise<void> {
  const { env } = lease
  const end = env.now() + stepMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      atOnce(db, step)
      return
    } catch (error) {
      if (!isSqliteBusy(error)) throw error
      if (env.now() + pauseMs > end) {
        throw Object.assign(new TimedOut('another connection keeps the file busy; it was not free', stepMs), {
          cause: error,
        })
      }
    }
    await pause(env, pauseMs * (0.5 + env.random() / 2))
  }
}
