import { Bid } from './bid.ts'
import type { Contention } from './contention.ts'
import { keepAwake } from './environment.ts'
import type { LockError } from './errors.ts'
import { KeyMap } from './key-map.ts'
import type { KeyLease } from './key-lease.ts'
import { Line, type LineKeeping } from './line.ts'
import type { Request } from './options.ts'
import type { Ask, LockRecord, Watch } from './store.ts'
import type { Crowd } from './waiters.ts'

/** What the room needs from outside; the rest of a line's keeping is the room itself. */
export type RoomKeeping = Omit<LineKeeping, 'push' | 'watch' | 'unwatch' | 'forget' | 'crowd'> & {
  readonly openWatch: (onFreed: (key: string) => void) => Watch | null
}

/** In milliseconds. */
export interface Limits {
  readonly heldMs: number
  readonly waitedMs: number
}

export interface Longest {
  readonly held: readonly { key: string; token: bigint; heldMs: number; context: string | null }[]
  /** Of each key, the one that has waited longest. */
  readonly waiting: readonly { key: string; waitedMs: number }[]
  /** How many leases there are whose last renewal has failed, of whatever key. */
  readonly unrenewed: number
}

/**
 * One line per key that anyone in this process holds or waits for, made on demand and forgotten when
 * the last one leaves. Also the place where word from the store finds the line it is for.
 */
export class WaitingRoom {
  readonly #lines = new KeyMap<Line>()
  readonly #crowd: Crowd = { held: 0, waiting: 0 }
  readonly #keeping: LineKeeping
  readonly #openWatch: RoomKeeping['openWatch']
  #watch: Watch | null = null
  #emptied: (() => void) | null = null
  #closed: LockError | null = null

  constructor({ openWatch, ...keeping }: RoomKeeping) {
    this.#openWatch = openWatch
    this.#keeping = {
      ...keeping,
      push: () => this.#watching() !== null,
      watch: (key) => {
        const watch = this.#watching()
        watch?.add(key)
        return watch !== null
      },
      unwatch: (key) => this.#watch?.delete(key),
      forget: (line) => this.#forget(line),
      crowd: this.#crowd,
    }
  }

  get held(): number {
    return this.#crowd.held
  }

  get waiting(): number {
    return this.#crowd.waiting
  }

  /** The lease, or word of contention once the request's wait is over. */
  enter(key: string, request: Request): Promise<KeyLease | Contention> {
    // One who takes several keys may be between two of them when the client closes.
    if (this.#closed) {
      if (!request.isPart) this.#keeping.journal.stats.counters.aborted += 1
      return Promise.reject(this.#closed)
    }
    let line = this.#lines.get(key)
    if (!line) this.#lines.set(key, (line = new Line(this.#keeping, key)))
    return line.enter(request)
  }

  /** A grant that came after its asker was told that the outcome is unknown. */
  strayGrant({ key, owner, leaseMs }: Ask): void {
    if (this.#lines.get(key)?.adopt(owner)) return
    const bid = new Bid({ key, owner })
    bid.sending(leaseMs)
    bid.spent = true
    this.#keeping.compensation.add(bid, true)
  }

  /** A key was freed by force through this client: a holder in this process need not wait to hear of it. */
  evicted(record: LockRecord): void {
    this.#lines.get(record.key)?.evicted(record.grant)
  }

  /** What has gone on for at least as long as `limits` say, the longest first, at most `max` of each. */
  longest(limits: Limits, max: number, isMeant: (key: string) => boolean): Longest {
    const held: Longest['held'][number][] = []
    const waiting: Longest['waiting'][number][] = []
    let unrenewed = 0
    for (const { key, hold, head } of this.#lines.values()) {
      if (hold && hold.failures > 0) unrenewed += 1
      if (isMeant(key)) continue
      const heldMs = hold?.lease?.heldMs ?? -1
      if (hold?.lease && heldMs >= limits.heldMs)
        held.push({ key, token: hold.lease.token, heldMs, context: hold.request.context })
      if (head && head.waitedMs >= limits.waitedMs) waiting.push({ key, waitedMs: head.waitedMs })
    }
    held.sort((a, b) => b.heldMs - a.heldMs)
    waiting.sort((a, b) => b.waitedMs - a.waitedMs)
    return { held: held.slice(0, max), waiting: waiting.slice(0, max), unrenewed }
  }

  /** Bounded: by the limit of a store call, and by the lease of a body that does not stop. */
  async close(reason: LockError): Promise<void> {
    this.#closed = reason
    for (const line of this.#lines.values()) line.close(reason)
    if (this.#lines.size > 0) await this.#empty()
    await this.#watch?.close()
    this.#watch = null
  }

  // Not before someone was denied a key: until then there is nothing to be woken for.
  #watching(): Watch | null {
    this.#watch ??= this.#openWatch((key) => this.#lines.get(key)?.freed())
    return this.#watch
  }

  /** Keeps the process alive: what comes after `close` must not be lost because nothing else is going on. */
  async #empty(): Promise<void> {
    const { env } = this.#keeping
    const letSleep = keepAwake(env)
    await new Promise<void>((resolve) => (this.#emptied = resolve))
    letSleep()
  }

  #forget(line: Line): void {
    this.#lines.delete(line.key)
    if (this.#lines.size === 0) this.#emptied?.()
  }
}
