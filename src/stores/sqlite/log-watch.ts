import { type FSWatcher, watch } from 'node:fs'
import type { Watch } from '../../store.ts'
import type { Connection } from './connection.ts'

/** Where the log cannot be watched, as on some file systems. */
const POLL_MS = 25
/** Behind the watch of the log, in case it misses something. */
const SLOW_POLL_MS = 100
/** The log changes a moment before the change can be read; then look again after these pauses. */
const FOLLOW_UPS_MS = [1, 4, 16]
/** Looking takes at most one part in this many of the time, however many keys and changes there are. */
const SHARE = 10
/** A busy log changes thousands of times a second. */
const MIN_REST_MS = 1
/** After a failure. The steps of the store report it; here it only must not be tried all the time. */
const FAILED_MS = 500
/** Keys come and go: only after this long without any are the timer and the watch given up. */
const IDLE_MS = 1000

interface Audience {
  readonly keys: Set<string>
  readonly onFreed: (key: string) => void
}

interface Eye {
  /** The database as it is now; rejects while there is none. */
  connected(): Promise<Connection>
  /** Those of the keys that nobody holds. */
  free(db: Connection, keys: readonly string[]): string[]
}

/**
 * Tells watchers which of their keys became free. Keys freed through this store are announced by it.
 * For what other processes do, SQLite's write-ahead log is watched: any change of it is a reason to
 * look, in one read for all keys, which of them are free. A waiter is told within half a millisecond,
 * most of the time; by polling alone it would be half the poll, at a cost that rises as the poll falls.
 */
export class LogWatch {
  readonly #eye: Eye
  readonly #audiences = new Set<Audience>()
  /** Keys that may have become free between their denial and now. */
  readonly #fresh = new Set<string>()
  #poll: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #log: FSWatcher | undefined
  #db: Connection | undefined
  #version: number | undefined
  #looking = false
  #restUntil = 0
  #idleSince = 0
  #followUp = FOLLOW_UPS_MS.length

  constructor(eye: Eye) {
    this.#eye = eye
  }

  watch(onFreed: (key: string) => void): Watch {
    const audience: Audience = { keys: new Set(), onFreed }
    this.#audiences.add(audience)
    return {
      add: (key) => {
        if (!this.#audiences.has(audience)) return
        audience.keys.add(key)
        this.#fresh.add(key)
        this.#idleSince = performance.now()
        this.#poll ??= this.#tickIn(POLL_MS)
        this.#lookIn(0)
      },
      delete: (key) => void audience.keys.delete(key),
      close: async () => {
        this.#audiences.delete(audience)
        if (this.#audiences.size === 0) this.#stop()
      },
    }
  }

  announce(keys: readonly string[]): void {
    for (const key of keys) {
      for (const audience of this.#audiences) {
        if (audience.keys.has(key)) audience.onFreed(key)
      }
    }
  }

  close(): void {
    this.#audiences.clear()
    this.#stop()
  }

  #tickIn(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#tick(), delayMs).unref()
  }

  #tick(): void {
    const now = performance.now()
    if ([...this.#audiences].some(({ keys }) => keys.size > 0)) this.#idleSince = now
    else if (now - this.#idleSince > IDLE_MS) return this.#stop()
    this.#poll = this.#tickIn(this.#log ? SLOW_POLL_MS : POLL_MS)
    void this.#look()
  }

  #lookIn(delayMs: number): void {
    const waitMs = Math.max(delayMs, this.#restUntil - performance.now())
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      void this.#lookAndFollowUp()
    }, waitMs).unref()
  }

  async #lookAndFollowUp(): Promise<void> {
    if (this.#looking || performance.now() < this.#restUntil) return this.#lookIn(1)
    if (await this.#look()) this.#followUp = FOLLOW_UPS_MS.length
    const pauseMs = FOLLOW_UPS_MS[this.#followUp]
    if (pauseMs === undefined) return
    this.#followUp += 1
    this.#lookIn(pauseMs)
  }

  /** Whether anything had changed. */
  async #look(): Promise<boolean> {
    if (this.#looking || performance.now() < this.#restUntil) return false
    this.#looking = true
    try {
      const db = await this.#eye.connected()
      this.#arm(db)
      // Inside a transaction of the user one sees the past.
      if (db.occupied) return false
      this.#restUntil = performance.now() + MIN_REST_MS
      const { version } = db
      const changed = version !== this.#version
      const keys = changed ? this.#keys() : [...this.#fresh]
      this.#version = version
      this.#fresh.clear()
      if (keys.length > 0) this.#tell(db, keys)
      return changed
    } catch {
      this.#version = undefined
      this.#restUntil = performance.now() + FAILED_MS
      return false
    } finally {
      this.#looking = false
    }
  }

  #tell(db: Connection, keys: readonly string[]): void {
    const start = performance.now()
    const free = this.#eye.free(db, keys)
    const end = performance.now()
    this.#restUntil = end + Math.max(MIN_REST_MS, (end - start) * (SHARE - 1))
    this.announce(free)
  }

  #keys(): string[] {
    return [...new Set([...this.#audiences].flatMap(({ keys }) => [...keys]))]
  }

  /** Watches the log of the database. It is there as long as the connection is, unless someone deletes it. */
  #arm(db: Connection): void {
    if (this.#db === db && this.#log) return
    if (this.#db !== db) this.#version = undefined
    this.#disarm()
    if (this.#audiences.size === 0) return
    this.#db = db
    try {
      const log = watch(`${db.file}-wal`, { persistent: false })
      this.#log = log
      log.on('change', (event) => {
        // Moved or deleted: the next look watches what is there then.
        if (event === 'rename' && this.#log === log) this.#disarm()
        this.#followUp = 0
        void this.#lookAndFollowUp()
      })
      log.on('error', () => {
        if (this.#log === log) this.#disarm()
      })
    } catch {
      // No such file, no more watches to be had: the poll is there.
    }
  }

  #disarm(): void {
    this.#log?.close()
    this.#log = undefined
  }

  #stop(): void {
    clearTimeout(this.#poll)
    clearTimeout(this.#soon)
    this.#poll = undefined
    this.#soon = undefined
    this.#fresh.clear()
    this.#followUp = FOLLOW_UPS_MS.length
    this.#disarm()
  }
}
