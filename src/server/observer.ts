import type { Environment, Timer } from '../environment.ts'
import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import type { LockRecord } from '../store.ts'
import { Changes, MOST_LOCKS, type Seen } from './changes.ts'
import type { Feed } from './feed.ts'
import { History } from './history.ts'
import { publicMessage } from './public-message.ts'
import { lockJson } from './records.ts'
import type { LockJson } from './wire.ts'

const EVERY_MS = 1000
/** At most a tenth of the time is spent looking. */
const TIMES_AS_LONG = 10
const AFTER_FAILURE_MS = 2000
const PAGE = 1000
/** What is followed is kept in memory, and a context may have 4 KiB. */
const MOST_CONTEXT = 256

/** Looks at the store again and again, for all who watch, and tells the feed what has changed. */
export class Observer {
  readonly history: History = new History()
  readonly #locks: Locks
  readonly #env: Environment
  readonly #feed: Feed
  readonly #changes: Changes
  #seen: ReadonlyMap<string, Seen> = new Map()
  #watchers = 0
  /** Null while there is none. */
  #timer: Timer = null
  #isLooking = false
  /** When the next look may begin, whoever comes and goes until then. */
  #nextAt = -Infinity
  /** Whether `#seen` is no older than that. */
  #isFresh = false
  #isUp = true
  #limited = false

  constructor(locks: Locks, env: Environment, feed: Feed) {
    this.#locks = locks
    this.#env = env
    this.#feed = feed
    this.#changes = new Changes(feed, this.history)
  }

  /** Why keys of the store are missing; null if none are. */
  get limited(): string | null {
    return this.#limited ? `only ${MOST_LOCKS} held keys are followed, and there are more` : null
  }

  /** Looks until the result is called, once for each call. */
  watch(): () => void {
    this.#watchers += 1
    if (this.#watchers === 1) this.#goOn()
    return () => {
      this.#watchers -= 1
      if (this.#watchers > 0) return
      if (this.#timer !== null) this.#env.clearTimer(this.#timer)
      this.#timer = null
    }
  }

  /** All that is held goes to those who wait for it, now or with the next look. */
  tell(): void {
    if (this.#isFresh) this.#feed.tell(() => this.#all())
  }

  /** This client has freed a key by force. */
  forced({ key, grant }: LockRecord): void {
    const seen = this.#seen.get(key)
    if (seen?.lock.grant !== grant) return
    const rest = new Map(this.#seen)
    rest.delete(key)
    this.#changes.forced(key, grant)
    this.#seen = rest
  }

  #goOn(): void {
    if (this.#watchers === 0 || this.#isLooking) return
    const inMs = this.#nextAt - this.#env.now()
    if (inMs > 0) {
      this.#timer = this.#env.setTimer(inMs, () => void this.#look(), true)
      return
    }
    this.#isFresh = false
    void this.#look()
  }

  async #look(): Promise<void> {
    this.#timer = null
    this.#isLooking = true
    const start = this.#env.now()
    this.#changes.start()
    let pauseMs = AFTER_FAILURE_MS
    try {
      const { found, isAll } = await this.#read()
      this.#answered()
      this.#limited = !isAll
      this.#seen = this.#changes.between(this.#seen, found, { isAll, now: this.#env.now() })
      this.#isFresh = true
      this.tell()
      pauseMs = Math.max(EVERY_MS, TIMES_AS_LONG * (this.#env.now() - start))
    } catch (error) {
      this.#failed(error)
    }
    this.#isLooking = false
    this.#nextAt = this.#env.now() + pauseMs
    this.#goOn()
  }

  async #read(): Promise<{ found: ReadonlyMap<string, Seen>; isAll: boolean }> {
    const found = new Map<string, Seen>()
    let after: string | undefined
    // As many pages as the keys need, and some for those that a page repeats.
    for (let pages = 0; pages < 2 * (MOST_LOCKS / PAGE) && found.size < MOST_LOCKS; pages += 1) {
      const page = await this.#locks.list({ limit: PAGE, after })
      const now = this.#env.now()
      for (const record of page.locks) {
        if (found.size >= MOST_LOCKS && !found.has(record.key)) return { found, isAll: false }
        const lock = cutContext(lockJson(record))
        found.set(lock.key, { lock, until: now + lock.remainingMs })
      }
      if (page.next === null) return { found, isAll: true }
      after = page.next
    }
    return { found, isAll: false }
  }

  #all(): LockJson[] {
    const now = this.#env.now()
    return Array.from(this.#seen.values(), ({ lock, until }) => ({
      ...lock,
      heldMs: lock.heldMs + Math.max(0, Math.round(now - until + lock.remainingMs)),
      remainingMs: Math.max(0, Math.round(until - now)),
    }))
  }

  #answered(): void {
    if (!this.#isUp) this.#feed.store({ ok: true, error: null })
    this.#isUp = true
  }

  #failed(error: unknown): void {
    const text = error instanceof LockError ? publicMessage(error.message) : 'the store gave a wrong answer'
    if (this.#isUp) this.#feed.store({ ok: false, error: text })
    this.#isUp = false
  }
}

function cutContext(lock: LockJson): LockJson {
  const { context } = lock
  if (context === null || context.length <= MOST_CONTEXT) return lock
  return { ...lock, context: `${context.slice(0, MOST_CONTEXT).toWellFormed()}…` }
}
