import { LockError } from '../errors.ts'
import { KeyMap } from '../key-map.ts'
import { checkNames } from '../option-check.ts'
import type {
  Answer,
  Ask,
  Claim,
  Holder,
  ListQuery,
  LockPage,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from '../store.ts'

export interface MemoryStoreOptions {
  /** Milliseconds since 1970 with a fraction, never running back. For tests that move time by hand. */
  readonly now?: (() => number) | undefined
}

/**
 * Locks inside one process: for tests, for development, and the model that other stores are compared
 * with. Two `Locks` on one memory store behave like two processes on one server.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkNames('memoryStore', options, ['now'])
  const { now = (): number => performance.timeOrigin + performance.now() } = options
  if (typeof now !== 'function') throw invalid('now: give a function that returns milliseconds since 1970')
  return new MemoryStore(now)
}

const MIN_SWEEP_SIZE = 1000

interface Entry {
  owner: string
  holder: Holder
  grant: number
  since: number
  leaseMs: number
  expiresAt: number
  wanted: boolean
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly #now: () => number
  readonly #entries = new KeyMap<Entry>()
  readonly #watches = new Set<{ keys: Set<string>; onFreed: (key: string) => void }>()
  // The highest grant of any entry that was dropped. One number for all keys is enough for G3 and,
  // unlike a number per key, does not grow.
  #fence = 0
  #sweepAtSize = MIN_SWEEP_SIZE

  constructor(now: () => number) {
    this.#now = now
  }

  async open(): Promise<void> {}

  async acquire(asks: readonly Ask[]): Promise<Answer[]> {
    const now = this.#now()
    return asks.map((ask) => this.#acquire(ask, now))
  }

  async renew(renewals: readonly Renewal[]): Promise<RenewalAnswer[]> {
    const now = this.#now()
    return renewals.map((renewal) => {
      const entry = this.#entries.get(renewal.key)
      if (!entry || entry.owner !== renewal.owner || entry.expiresAt <= now) return { renewed: false }
      entry.expiresAt = Math.max(entry.expiresAt, now + renewal.leaseMs)
      entry.leaseMs = renewal.leaseMs
      if (renewal.rotate) entry.grant = mint(entry.grant, now)
      entry.grant = Math.max(entry.grant, renewal.raiseTo ?? 0)
      return { renewed: true, grant: entry.grant }
    })
  }

  async release(claims: readonly Claim[]): Promise<ReleaseAnswer[]> {
    const now = this.#now()
    return claims.map((claim) => {
      const entry = this.#entries.get(claim.key)
      if (!entry || entry.owner !== claim.owner) return { released: false, wanted: false }
      this.#free(claim.key, entry)
      return { released: entry.expiresAt > now, wanted: entry.wanted }
    })
  }

  async list(query: ListQuery): Promise<LockPage> {
    const now = this.#now()
    const keys = this.#entries
      .keys()
      .filter((key) => matches(key, query))
      .sort(byCodePoint)
    const locks: LockRecord[] = []
    for (const key of keys) {
      const entry = this.#entries.get(key)
      if (!entry || entry.expiresAt <= now) continue
      if (locks.length === query.limit) return { locks, next: locks.at(-1)?.key ?? null }
      locks.push(record(key, entry, now))
    }
    return { locks, next: null }
  }

  async evict(key: string, grant?: number): Promise<LockRecord | null> {
    const now = this.#now()
    const entry = this.#entries.get(key)
    if (!entry || entry.expiresAt <= now) return null
    if (grant !== undefined && entry.grant !== grant) return null
    this.#free(key, entry)
    return record(key, entry, now)
  }

  watch(onFreed: (key: string) => void): Watch {
    const watch = { keys: new Set<string>(), onFreed }
    this.#watches.add(watch)
    return {
      add: (key) => {
        watch.keys.add(key)
        // It may have come free between its denial and now.
        queueMicrotask(() => {
          if (!this.#entries.get(key) && watch.keys.has(key) && this.#watches.has(watch)) onFreed(key)
        })
      },
      delete: (key) => void watch.keys.delete(key),
      close: async () => void this.#watches.delete(watch),
    }
  }

  async close(): Promise<void> {}

  #acquire(ask: Ask, now: number): Answer {
    const entry = this.#entries.get(ask.key)
    if (entry && entry.expiresAt > now) {
      if (entry.owner !== ask.owner) {
        entry.wanted = true
        return { granted: false, retryInMs: entry.expiresAt - now, holder: entry.holder }
      }
      entry.expiresAt = Math.max(entry.expiresAt, now + ask.leaseMs)
      return { granted: true, grant: entry.grant, previous: null }
    }
    const grant = mint(Math.max(this.#fence, entry?.grant ?? 0), now)
    if (!entry && this.#entries.size >= this.#sweepAtSize) this.#sweep(now)
    this.#entries.set(ask.key, {
      owner: ask.owner,
      holder: ask.holder,
      grant,
      since: now,
      leaseMs: ask.leaseMs,
      expiresAt: now + ask.leaseMs,
      wanted: false,
    })
    return { granted: true, grant, previous: entry?.holder ?? null }
  }

  /** Drops leases that ran out and that nobody came for. Rare enough to cost nothing per lock. */
  #sweep(now: number): void {
    for (const key of this.#entries.keys()) {
      const entry = this.#entries.get(key)
      if (entry && entry.expiresAt <= now) this.#drop(key, entry)
    }
    this.#sweepAtSize = Math.max(MIN_SWEEP_SIZE, 2 * this.#entries.size)
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#fence = Math.max(this.#fence, entry.grant)
  }

  #free(key: string, entry: Entry): void {
    this.#drop(key, entry)
    if (!entry.wanted) return
    for (const watch of this.#watches) {
      if (watch.keys.has(key)) watch.onFreed(key)
    }
  }
}

function mint(last: number, now: number): number {
  return Math.max(last + 1, Math.floor(now * 1000))
}

function matches(key: string, { key: exact, prefix, after }: ListQuery): boolean {
  if (exact !== undefined && key !== exact) return false
  if (prefix !== undefined && !key.startsWith(prefix)) return false
  return after === undefined || byCodePoint(key, after) > 0
}

// UTF-8 order, as the other stores have it; UTF-16 order differs beyond the basic plane.
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function record(key: string, entry: Entry, now: number): LockRecord {
  const { grant, holder, since, leaseMs, expiresAt, wanted } = entry
  return { key, grant, holder, since: Math.floor(since), leaseMs, remainingMs: expiresAt - now, wanted }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `memoryStore: ${message}`)
}
