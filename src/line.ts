import type { Batcher } from './batcher.ts'
import type { Compensation } from './compensation.ts'
import { NEVER_SENT } from './connection.ts'
import type { Timer } from './environment.ts'
import { LockError } from './errors.ts'
import { Fifo } from './fifo.ts'
import { deadlineOf, Hold, type HoldKeeping, LEFT, type Leaving, type Stray } from './hold.ts'
import { Lease } from './lease.ts'
import type { Request, Settings } from './options.ts'
import type { Answer, Ask, Claim, Denial, Grant, Holder, ReleaseAnswer } from './store.ts'
import { TOKENS_PER_GRANT } from './token.ts'
import { aborted, Contention, Waiter } from './waiter.ts'

/** For how long a process may pass a key on inside itself before others get a chance (G9). */
const SLICE_MS = 100
const MAX_COURTESY_MS = 250
/** Spreads the processes that wait for one lease to run out. */
const EXPIRY_JITTER_MS = 5

const NO_STRAY: Stray = { asks: 0, leaseMs: 0 }

/** What the lines of one client share. */
export interface LineKeeping extends HoldKeeping {
  readonly acquires: Batcher<Ask, Answer>
  readonly releases: Batcher<Claim, ReleaseAnswer>
  readonly compensation: Compensation
  readonly settings: () => Settings
  readonly holder: (context: string | null) => Holder
  readonly latencyMs: () => number
  /** Whether the store can wake us. */
  readonly push: () => boolean
  readonly watch: (key: string) => void
  readonly unwatch: (key: string) => void
  readonly forget: (line: Line) => void
}

/**
 * `idle`: about to ask, or to be forgotten. `asking`: the head's ask is at the store. `sleeping`:
 * denied or failed, until push or timer. `held`. `lingering`: released, but kept until `atLeast` is
 * over. `leaving`: being released. `courteous`: given back while others want it; they may ask first.
 */
type Phase = 'idle' | 'asking' | 'sleeping' | 'held' | 'lingering' | 'leaving' | 'courteous'

/** All of one key in this process: who waits, in order; what we hold; what we last heard. */
export class Line {
  readonly key: string
  readonly #keeping: LineKeeping
  readonly #waiters = new Fifo<Waiter>()
  #phase: Phase = 'idle'
  #hold: Hold | null = null
  #timer: Timer = null
  #closing = false
  /** The id of the next hold: kept over failed asks, so that a lost reply and its retry are one grant. */
  #owner: string | null = null
  /** The asks under `#owner` whose outcome is unknown. */
  #stray: Stray = NO_STRAY
  /** The last answer, if it was a denial, and the last fault, if nothing was heard since. */
  #denial: Denial | null = null
  #fault: LockError | null = null
  #tries = 0
  #askedAt = 0
  #freedWhileAsking = false

  constructor(keeping: LineKeeping, key: string) {
    this.#keeping = keeping
    this.key = key
  }

  get waiting(): number {
    return this.#waiters.size
  }

  get isHeld(): boolean {
    return this.#phase === 'held'
  }

  enter(request: Request): Promise<Lease | Contention> {
    const oneTry = request.waitMs === 0
    const free = this.#phase === 'idle' || (oneTry && this.#phase === 'courteous')
    if (oneTry && (!free || this.#waiters.size > 0)) {
      const contention = new Contention(0, this.#knownHolder())
      this.#keeping.journal.timedOut(this.key, 0, contention.holder)
      return Promise.resolve(contention)
    }
    const waiter = new Waiter(this.#keeping.env, request, this.#giveUp)
    this.#waiters.push(waiter)
    if (free) this.#ask()
    return waiter.promise
  }

  /** The outermost lease on `hold`, which is in force, is done. Resolves to whether it still was ours. */
  leave(hold: Hold): Promise<Leaving> {
    const lingerMs = hold.since + hold.request.atLeastMs - this.#keeping.env.now()
    if (lingerMs > 0 && !this.#closing) {
      this.#released(hold)
      this.#wait('lingering', lingerMs, () => this.#giveBack(hold), true)
      return LEFT
    }
    const next = this.#waiters.first
    if (next && this.#mayHandOff(hold, next.request)) {
      this.#released(hold)
      hold.handOffs += 1
      this.#give(next, hold, { previous: null, handedOff: true })
      return LEFT
    }
    return new Promise((resolve) => this.#giveBack(hold, resolve))
  }

  /** `hold` was lost; its holder knows already. */
  lost(hold: Hold): void {
    if (hold !== this.#hold) return
    this.#hold = null
    // Nobody is left to release it, and a renewal may just have prolonged it.
    if (this.#closing) this.#keeping.compensation.add(hold.claim, hold.leaseMs)
    this.#proceed()
  }

  /** `grant` was freed by force. */
  evicted(grant: number): void {
    if (this.#hold?.grant !== grant) return
    this.#hold.lose(new LockError('LOCK_LOST', `"${this.key}" was freed by force`, { key: this.key }))
  }

  /** The store says that the key may be free. */
  freed(): void {
    if (this.#phase === 'asking') this.#freedWhileAsking = true
    else if (this.#phase === 'sleeping') this.#ask()
  }

  /**
   * A late grant to `owner`: whether this line still uses it. Then nobody may take it back: it is what
   * we hold, or the next ask, made now, will find the key ours.
   */
  adopt(owner: string): boolean {
    if (owner === this.#owner) this.freed()
    return owner === this.#owner || owner === this.#hold?.claim.owner
  }

  /** Turns everyone away; ends for good once what is under way has settled. */
  close(reason: LockError): void {
    this.#closing = true
    for (let waiter = this.#waiters.first; waiter; waiter = this.#waiters.first) {
      this.#waiters.delete(waiter)
      this.#keeping.journal.stats.counters.aborted += 1
      waiter.fail(reason)
    }
    if (this.#phase === 'held' && this.#hold) this.#closeHold(this.#hold, reason)
    else if (this.#phase === 'lingering') this.#dropHold()
    else if (this.#phase !== 'asking' && this.#phase !== 'leaving') this.#proceed()
  }

  // A body gets until its deadline to stop; renewing for longer would let it keep `close` waiting.
  #closeHold(hold: Hold, reason: LockError): void {
    hold.stopRenewing()
    hold.lease?.notify(reason)
    if (!hold.lease?.hasBody) void hold.lease?.dispose()
  }

  // `atLeast` outlives the client: the key stays taken until its lease runs out.
  #dropHold(): void {
    this.#hold?.end()
    this.#hold = null
    this.#proceed()
  }

  #ask(): void {
    const head = this.#waiters.first
    if (!head) return this.#rest()
    this.#setPhase('asking')
    this.#askedAt = this.#keeping.env.now()
    this.#freedWhileAsking = false
    this.#owner ??= this.#keeping.env.newId()
    const { leaseMs, context } = head.request
    const ask: Ask = { key: this.key, owner: this.#owner, leaseMs, holder: this.#keeping.holder(context) }
    this.#keeping.acquires.submit(ask, (answer, sentAt) => {
      if (answer instanceof LockError) this.#failed(head, ask, answer, sentAt)
      else if (answer.granted) this.#granted(head, ask, answer, sentAt)
      else this.#denied(head, answer)
    })
  }

  #granted(asker: Waiter, ask: Ask, answer: Grant, sentAt: number): void {
    const { env, compensation } = this.#keeping
    const claim = { key: ask.key, owner: ask.owner }
    if (env.now() >= deadlineOf(sentAt, ask.leaseMs)) {
      // Worth nothing any more. The store may think otherwise for a moment.
      const { asks, leaseMs } = this.#stray
      compensation.add(claim, Math.max(ask.leaseMs, leaseMs), asks > 0)
      this.#newOwner()
      return this.#unanswered(asker, new LockError('STORE_UNAVAILABLE', 'the store answered after the lease was over'))
    }
    const hold = new Hold(this.#keeping, claim, asker.request, {
      number: answer.grant,
      sentAt,
      stray: this.#stray,
    })
    this.#newOwner()
    this.#heard(null)
    this.#keeping.unwatch(this.key)
    this.#hold = hold
    this.#setPhase('held')
    // The asker may be gone. What it asked for goes to the next in line, if it suits, or back.
    const next = this.#waiters.first
    if (next && (next === asker || this.#mayHandOff(hold, next.request))) {
      this.#give(next, hold, { previous: answer.previous, handedOff: false })
    } else {
      this.#giveBack(hold)
    }
  }

  #denied(asker: Waiter, denial: Denial): void {
    this.#heard(denial)
    if (asker.waiting && !asker.conflicted) {
      asker.conflicted = true
      this.#keeping.journal.denied(this.key, denial)
    }
    if (asker.waiting && asker.request.waitMs === 0) this.#refuse(asker)
    if (this.#freedWhileAsking || this.#waiters.size === 0) return this.#proceed()
    const { env } = this.#keeping
    const { pollMinMs, pollMaxMs } = this.#keeping.settings()
    this.#keeping.watch(this.key)
    const poll = this.#keeping.push() ? pollMaxMs : Math.min(pollMinMs * 2 ** this.#tries, pollMaxMs)
    this.#tries += 1
    const pollMs = poll * (0.5 + env.random() / 2)
    this.#sleep(Math.min(pollMs, denial.retryInMs + env.random() * EXPIRY_JITTER_MS))
  }

  #failed(asker: Waiter, ask: Ask, error: LockError, sentAt: number): void {
    if (sentAt !== NEVER_SENT) {
      const { asks, leaseMs } = this.#stray
      this.#stray = { asks: asks + 1, leaseMs: Math.max(leaseMs, ask.leaseMs) }
    }
    this.#unanswered(asker, error)
  }

  #unanswered(asker: Waiter, error: LockError): void {
    this.#denial = null
    this.#fault = error
    // Only a store that is out of reach may come back; a wrong option stays wrong.
    const lasting = error.code !== 'STORE_UNAVAILABLE'
    if (asker.waiting && (lasting || asker.request.waitMs === 0)) {
      this.#waiters.delete(asker)
      this.#keeping.journal.stats.counters.failed += 1
      asker.fail(error)
    }
    const { pollMinMs, pollMaxMs } = this.#keeping.settings()
    const backoff = Math.min(pollMinMs * 2 ** this.#tries, pollMaxMs)
    this.#tries += 1
    this.#sleep(backoff * (0.5 + this.#keeping.env.random() / 2))
  }

  readonly #giveUp = (waiter: Waiter, why: 'timeout' | 'abort'): void => {
    const { journal } = this.#keeping
    const fault = this.#fault ?? this.#silence(waiter)
    if (why === 'timeout' && !fault) {
      this.#refuse(waiter)
    } else {
      this.#waiters.delete(waiter)
      journal.stats.counters[why === 'abort' ? 'aborted' : 'failed'] += 1
      waiter.fail(why === 'abort' || !fault ? aborted(this.key, waiter.request.signal) : fault)
    }
    if (this.#waiters.size === 0 && this.#phase === 'sleeping') this.#rest()
  }

  /** The fault of a store that has not said a word for most of the wait. */
  #silence(waiter: Waiter): LockError | null {
    const silentMs = this.#keeping.env.now() - this.#askedAt
    if (this.#phase !== 'asking' || this.#denial || silentMs < waiter.request.waitMs / 2) return null
    return new LockError('STORE_UNAVAILABLE', `the store gave no answer for "${this.key}" within the wait`, {
      key: this.key,
    })
  }

  #refuse(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    const { waitedMs } = waiter
    const holder = this.#knownHolder()
    this.#keeping.journal.timedOut(this.key, waitedMs, holder)
    waiter.refuse(new Contention(waitedMs, holder))
  }

  #give(waiter: Waiter, hold: Hold, how: { previous: Holder | null; handedOff: boolean }): void {
    this.#waiters.delete(waiter)
    const lease = new Lease(hold)
    hold.lease = lease
    this.#keeping.journal.granted(lease, waiter.waitedMs, how)
    waiter.give(lease)
  }

  /** Whether `hold` can serve `request` as well as a grant of its own could. */
  #mayHandOff(hold: Hold, request: Request): boolean {
    const { leaseMs, renew, rotateMs, context } = hold.request
    const suits =
      renew &&
      request.renew &&
      request.leaseMs === leaseMs &&
      request.leaseMs === hold.leaseMs &&
      request.rotateMs === rotateMs &&
      request.context === context &&
      request.atLeastMs === 0
    const inSlice = hold.handOffs + 1 < TOKENS_PER_GRANT && this.#keeping.env.now() - hold.since < SLICE_MS
    return suits && inSlice && hold.remainingMs >= leaseMs / 2
  }

  #giveBack(hold: Hold, done?: (result: Leaving) => void): void {
    const { lease } = hold
    const { compensation, journal } = this.#keeping
    hold.end()
    this.#setPhase('leaving')
    this.#keeping.releases.submit(hold.claim, (answer) => {
      this.#hold = null
      const { asks, leaseMs } = hold.stray
      if (answer instanceof LockError) {
        compensation.add(hold.claim, Math.max(hold.leaseMs, leaseMs), asks > 0)
        if (lease) this.#released(hold)
        this.#proceed()
        const failure = releaseFailed(this.key, answer)
        journal.fault(failure)
        done?.(failure)
        return
      }
      if (asks > 0) compensation.add(hold.claim, leaseMs, asks > 1)
      if (lease && answer.released) this.#released(hold)
      else if (lease) journal.lost(lease, lostBeforeRelease(this.key))
      if (answer.wanted && !this.#closing) this.#wait('courteous', this.#courtesyMs(), () => this.#proceed(), false)
      else this.#proceed()
      done?.(answer.released)
    })
  }

  #released(hold: Hold): void {
    if (hold.lease) this.#keeping.journal.released(hold.lease)
    hold.lease = null
  }

  /** Long enough for a message to reach another waiter and its ask to reach the store. */
  #courtesyMs(): number {
    const { pollMinMs, pollMaxMs } = this.#keeping.settings()
    if (!this.#keeping.push()) return pollMaxMs / 2
    return Math.min(Math.max(4 * this.#keeping.latencyMs(), pollMinMs), MAX_COURTESY_MS)
  }

  #proceed(): void {
    this.#setPhase('idle')
    this.#ask()
  }

  #sleep(ms: number): void {
    if (this.#waiters.size === 0) this.#rest()
    else this.#wait('sleeping', ms, () => this.#ask(), false)
  }

  /** Nobody waits and nothing is under way: the line is gone, but what it may have left is undone. */
  #rest(): void {
    this.#setPhase('idle')
    this.#keeping.unwatch(this.key)
    const { asks, leaseMs } = this.#stray
    if (this.#owner !== null && asks > 0) {
      this.#keeping.compensation.add({ key: this.key, owner: this.#owner }, leaseMs, asks > 1)
    }
    this.#newOwner()
    this.#keeping.forget(this)
  }

  #newOwner(): void {
    this.#owner = null
    this.#stray = NO_STRAY
  }

  #heard(denial: Denial | null): void {
    this.#denial = denial
    if (this.#fault || !denial) this.#tries = 0
    this.#fault = null
  }

  #knownHolder(): Holder | null {
    return this.#hold ? this.#keeping.holder(this.#hold.request.context) : (this.#denial?.holder ?? null)
  }

  #wait(phase: Phase, ms: number, then: () => void, background: boolean): void {
    this.#setPhase(phase)
    this.#timer = this.#keeping.env.setTimer(ms, then, background)
  }

  /** A timer belongs to the phase that set it. */
  #setPhase(phase: Phase): void {
    if (this.#timer !== null) this.#keeping.env.clearTimer(this.#timer)
    this.#timer = null
    this.#phase = phase
  }
}

function releaseFailed(key: string, cause: LockError): LockError {
  const message = `could not tell the store that "${key}" is free; it will be told again until its lease runs out`
  return new LockError('LOCK_RELEASE_FAILED', message, { key, cause })
}

export function lostBeforeRelease(key: string): LockError {
  return new LockError('LOCK_LOST', `the lease on "${key}" was already gone from the store when it was released`, {
    key,
  })
}
