import { setImmediate } from 'node:timers/promises'
import type {
  Answer,
  Ask,
  Claim,
  Fault,
  ListQuery,
  LockPage,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from '../../store.ts'
import { Connection } from './connection.ts'
import type { SqliteDatabase } from '../../databases/sqlite.ts'
import { lendToStore, takeBackFromStore } from '../../databases/sqlite-lent.ts'
import { loadDriver } from './driver.ts'
import { asLockError, closedError, isBusy } from './failures.ts'
import type { Identity } from './file.ts'
import { LogWatch } from './log-watch.ts'
import { patienceEnd, patiently } from './patience.ts'
import type { Sql } from './schema.ts'
import { Steps } from './steps.ts'

/**
 * Keys per transaction. SQLite runs in this thread: 500 keys take some 5 ms, then others get a turn.
 * Atomic is each key, not the batch.
 */
const CHUNK = 500
const SWEEP_EVERY_MS = 600_000

export interface Source {
  readonly file: string
  /** The user's own database, which is never closed; without it, the file is opened and closed here. */
  readonly lent?: { readonly db: SqliteDatabase; readonly identity: Identity | undefined }
  readonly sql: Sql
  readonly now: () => number
}

type Step<T> = (steps: Steps) => T

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly #source: Source
  readonly #logWatch: LogWatch
  #connection: Connection | undefined
  #opening: Promise<Connection> | undefined
  /** Not by the clock of the records: put back by a month, that would stop the clean-up for as long. */
  #sweepAt = 0
  #closed = false

  constructor(source: Source) {
    this.#source = source
    if (source.lent) lendToStore(source.lent.db)
    this.#logWatch = new LogWatch({
      connected: () => this.#inPlace(),
      free: (db, keys) => new Steps(db, source.now).free(keys),
    })
  }

  async open(): Promise<void> {
    // Loading may take long on a busy machine; the patience is for the file.
    if (!this.#source.lent) await loadDriver()
    await this.#attempt(patienceEnd(), () => this.#connected())
  }

  async acquire(asks: readonly Ask[]): Promise<(Answer | Fault)[]> {
    const answers = await this.#inChunks(asks, 'deferred', (chunk) => (steps) => steps.acquire(chunk))
    if (performance.now() >= this.#sweepAt) void this.#sweep()
    return answers
  }

  renew(renewals: readonly Renewal[]): Promise<(RenewalAnswer | Fault)[]> {
    return this.#inChunks(renewals, 'immediate', (chunk) => (steps) => steps.renew(chunk))
  }

  release(claims: readonly Claim[]): Promise<(ReleaseAnswer | Fault)[]> {
    return this.#inChunks(claims, 'immediate', (chunk) => (steps) => steps.release(chunk))
  }

  list(query: ListQuery): Promise<LockPage> {
    return this.#transact('deferred', patienceEnd(), (steps) => steps.list(query))
  }

  evict(key: string, grant?: number): Promise<LockRecord | null> {
    return this.#transact('immediate', patienceEnd(), (steps) => steps.evict(key, grant))
  }

  watch(onFreed: (key: string) => void): Watch {
    if (this.#closed) throw closedError()
    return this.#logWatch.watch(onFreed)
  }

  async close(): Promise<void> {
    if (this.#source.lent && !this.#closed) takeBackFromStore(this.#source.lent.db)
    this.#closed = true
    this.#logWatch.close()
    await this.#opening?.catch(() => undefined)
    this.#discard(this.#connection)
  }

  async #inChunks<I, O>(
    items: readonly I[],
    mode: 'deferred' | 'immediate',
    stepFor: (chunk: readonly I[]) => Step<O[]>,
  ): Promise<(O | Fault)[]> {
    const until = patienceEnd()
    if (items.length <= CHUNK) return this.#transact(mode, until, stepFor(items))
    const answers: (O | Fault)[] = []
    for (let start = 0; start < items.length; start += CHUNK) {
      try {
        if (start > 0) await setImmediate()
        answers.push(...(await this.#transact(mode, until, stepFor(items.slice(start, start + CHUNK)))))
      } catch (error) {
        if (start === 0) throw error
        // What is done stays done; only the rest has failed.
        return [...answers, ...items.slice(start).map(() => ({ error }))]
      }
    }
    return answers
  }

  #transact<T>(mode: 'deferred' | 'immediate', until: number, step: Step<T>): Promise<T> {
    return this.#attempt(until, async (tries) => {
      const connection = this.#connection ?? (await this.#connected())
      const steps = new Steps(connection, this.#source.now)
      try {
        const result = connection.transaction(tries === 0 ? mode : 'immediate', () => step(steps))
        this.#logWatch.announce(steps.freed)
        return result
      } catch (error) {
        // Whatever is wrong, the next try starts afresh: a file put back, a table created again.
        if (!isBusy(error)) this.#discard(connection)
        throw error
      }
    })
  }

  async #attempt<T>(until: number, attempt: (tries: number) => Promise<T>): Promise<T> {
    try {
      return await patiently(until, attempt)
    } catch (error) {
      throw asLockError(error, this.#source.file)
    }
  }

  #connected(): Promise<Connection> {
    if (this.#closed) return Promise.reject(closedError())
    if (this.#connection) return Promise.resolve(this.#connection)
    this.#opening ??= this.#connect().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async #connect(): Promise<Connection> {
    const { file, lent, sql } = this.#source
    if (lent) {
      this.#connection = Connection.adopt(lent.db, file, lent.identity, sql)
    } else {
      const openDatabase = await loadDriver()
      if (this.#closed) throw closedError()
      this.#connection = Connection.open(openDatabase, file, sql)
    }
    return this.#connection
  }

  async #inPlace(): Promise<Connection> {
    const connection = await this.#connected()
    if (connection.inPlace) return connection
    this.#discard(connection)
    return this.#connected()
  }

  #discard(connection: Connection | undefined): void {
    if (this.#connection === connection) this.#connection = undefined
    connection?.close()
  }

  /** Best effort: whatever is left is found the next time. */
  async #sweep(): Promise<void> {
    this.#sweepAt = performance.now() + SWEEP_EVERY_MS
    try {
      const connection = await this.#connected()
      const more = connection.transaction('deferred', () => new Steps(connection, this.#source.now).sweep())
      if (more) this.#sweepAt = 0
    } catch {
      // As above.
    }
  }
}
