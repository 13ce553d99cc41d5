import type { Bid } from './bid.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import type { KeyLease } from './key-lease.ts'
import type { Line } from './line.ts'
import type { Journal } from './monitor/journal.ts'
import type { Request } from './options.ts'
import type { Renewals } from './renewals.ts'
import { Entry, type Schedule } from './schedule.ts'
import type { Claim } from './store.ts'
import { TOKENS_PER_GRANT } from './token.ts'

/** Whether the key was ours until it was left, or why the store could not be told. Never rejects. */
export type Leaving = boolean | LockError

/** Shared: while async contexts are tracked, a new promise is the dearest part of a hand-off. */
export const LEFT: Promise<Leaving> = Promise.resolve(true)

/** For how long a process may pass a key on inside itself before others get a chance (G9). */
const SLICE_MS = 100

/** In the message of a loss, before the words of the store. */
export const LAST_ATTEMPT = '; the last attempt failed: '

/** What every hold of one client shares. */
export interface HoldKeeping {
  readonly env: Environment
  readonly journal: Journal
  readonly renewals: Renewals
  /** Fires each hold's deadline on a timer that no renewal, reply or queue can delay. */
  readonly deadlines: Schedule<Hold>
}

/**
 * One grant that this process has at the store: owner, grant number, deadline. Leases are its public
 * face; several take turns on one hold by hand-off, and nested ones share it by re-entry.
 */
export class Hold {
  readonly bid: Bid
  readonly request: Request
  readonly since: number
  readonly renewal: Entry<Hold> = new Entry(this)
  /** Failed renewals in a row. */
  failures = 0
  /** Why the last renewal failed, for whoever is told of the loss. */
  failure: LockError | undefined
  renewalsUnderWay = 0
  leaseMs: number
  atLeastMs: number
  grant: number
  handOffs = 0
  rotatedAt: number
  /** The outermost lease now in force. */
  lease: KeyLease | null = null
  /** Lost without word from the store, which a renewal may have reached all the same. */
  mayBeAtStore = false
  readonly #keeping: HoldKeeping
  readonly #line: Line
  readonly #deadline: Entry<Hold> = new Entry(this)
  /** Why it is not renewed any more. */
  #windingDown: string | null = null
  #state: 'held' | 'ended' | 'lost' = 'held'

  constructor(
    keeping: HoldKeeping,
    line: Line,
    bid: Bid,
    request: Request,
    grant: { readonly number: number; readonly sentAt: number },
  ) {
    this.#keeping = keeping
    this.#line = line
    this.bid = bid
    this.request = request
    this.leaseMs = request.leaseMs
    this.atLeastMs = request.atLeastMs
    this.grant = grant.number
    this.since = keeping.env.now()
    this.rotatedAt = grant.sentAt
    keeping.deadlines.set(this.#deadline, deadlineOf(grant.sentAt, this.leaseMs))
    if (request.renew) keeping.renewals.add(this, grant.sentAt)
  }

  get claim(): Claim {
    return this.bid.claim
  }

  get env(): Environment {
    return this.#keeping.env
  }

  get journal(): Journal {
    return this.#keeping.journal
  }

  /** Computed, not remembered: right in the very line after a blocked event loop. */
  get held(): boolean {
    if (this.#state === 'held' && this.env.now() >= this.#deadline.dueAt) this.expire()
    return this.#state === 'held'
  }

  get remainingMs(): number {
    return this.#deadline.dueAt - this.env.now()
  }

  /** Whether it can be passed on to `request`, and serve it as well as a grant of its own would. */
  mayServe(request: Request): boolean {
    const { leaseMs, renew, rotateMs, context } = this.request
    const suits =
      renew &&
      this.#windingDown === null &&
      request.renew &&
      request.leaseMs === leaseMs &&
      // `extend` may have made it shorter.
      request.leaseMs === this.leaseMs &&
      // Nothing longer was ever sent, or a dead successor would keep the key for that long.
      request.leaseMs === this.bid.longestMs &&
      request.rotateMs === rotateMs &&
      request.context === context &&
      this.atLeastMs === 0 &&
      request.atLeastMs === 0
    const inSlice = this.handOffs + 1 < TOKENS_PER_GRANT && this.env.now() - this.since < SLICE_MS
    return suits && inSlice && this.remainingMs >= leaseMs / 2
  }

  /** Counted from `sentAt`. Answers may come late and out of order: the deadline only ever moves on. */
  renewed(sentAt: number, leaseMs: number, grant: number): void {
    if (!this.held || this.#windingDown) return
    const deadline = deadlineOf(sentAt, leaseMs)
    if (deadline > this.#deadline.dueAt) this.#keeping.deadlines.set(this.#deadline, deadline)
    if (grant > this.grant) {
      this.grant = grant
      this.rotatedAt = sentAt
    }
  }

  /** The local deadline has come and the store has not confirmed a renewal in time. */
  expire(): void {
    this.mayBeAtStore = true
    const { key } = this.claim
    const ended = `the lease of ${this.leaseMs} ms on "${key}"`
    const why = this.#windingDown
      ? `${this.#windingDown}, and ${ended} is over`
      : this.request.renew
        ? `no renewal was confirmed in time, so ${ended} may have run out${this.#lastFailure()}`
        : `${ended} is over, and with renew: false it is not renewed`
    this.lose(new LockError('LOCK_LOST', why, { key, cause: this.failure }))
  }

  lose(reason: LockError): void {
    if (this.#state !== 'held') return
    this.#state = 'lost'
    this.#stop()
    // First the holder, then anybody who might be let in.
    this.lease?.lose(reason)
    this.#line.lost(this)
  }

  /** No more renewals; the lease ends at its deadline unless it is released before. */
  windDown(why: string): void {
    this.#windingDown ??= why
    this.#keeping.renewals.delete(this)
  }

  /** Ends the hold in this process; what happens at the store is the caller's business. */
  end(): void {
    if (this.#state !== 'held') return
    this.#state = 'ended'
    this.#stop()
  }

  /** The outermost lease is done with it: it is passed on or given back. */
  leave(): Promise<Leaving> {
    return this.#line.leave(this)
  }

  extend(leaseMs: number): Promise<void> {
    return this.#keeping.renewals.renewNow(this, leaseMs)
  }

  #lastFailure(): string {
    return this.failure ? `${LAST_ATTEMPT}${this.failure.message}` : ''
  }

  #stop(): void {
    this.#keeping.renewals.delete(this)
    this.#keeping.deadlines.delete(this.#deadline)
  }
}

/**
 * Earlier than the store's own expiry by a margin that covers clocks of unequal rate, a late timer
 * and the time a body needs to stop: 5 %, at least 50 ms, but never more than a quarter.
 */
export function deadlineOf(sentAt: number, leaseMs: number): number {
  const marginMs = Math.min(Math.max(leaseMs * 0.05, 50), leaseMs * 0.25)
  return sentAt + leaseMs - marginMs
}
