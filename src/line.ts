import type { Batcher } from './batcher.ts'
import type { Bid } from './bid.ts'
import type { Compensation } from './compensation.ts'
import { NEVER_SENT } from './connection.ts'
import { Contention } from './contention.ts'
import type { Timer } from './environment.ts'
import { LockError } from './errors.ts'
import { deadlineOf, Hold, type HoldKeeping, LEFT, type Leaving } from './hold.ts'
import { KeyLease } from './key-lease.ts'
import { noAnswer, tooSlow } from './late-answers.ts'
import { nameOf } from './monitor/journal.ts'
import { comesBack, type Request } from './options.ts'
import type { Pace } from './pace.ts'
import { lostBeforeRelease, releaseFailed } from './release-errors.ts'
import type { Answer, Ask, Claim, Denial, Grant, Holder, ReleaseAnswer } from './store.ts'
import { aborted, type Queue, Waiter } from './waiter.ts'
import { type Crowd, Waiters } from './waiters.ts'

/** What the lines of one client share. */
export interface LineKeeping extends HoldKeeping {
  readonly acquires: Batcher<Ask, Answer>
  readonly releases: Batcher<Claim, ReleaseAnswer>
  readonly compensation: Compensation
  readonly pace: Pace
  readonly holder: (context: string | null) => Holder
  readonly latencyMs: () => number
  /** Whether the store can wake us. */
  readonly push: () => boolean
  /** Whether the key is watched now. */
  readonly watch: (key: string) => boolean
  readonly unwatch: (key: string) => void
  readonly forget: (line: Line) => void
  readonly crowd: Crowd
}

/**
 * `idle`: about to ask, or to be forgotten. `asking`: the head's ask is at the store. `sleeping`:
 * denied or failed, until push or timer. `held`. `lingering`: released, but kept until `atLeast` is
 * over. `leaving`: being released. `courteous`: given back while others want it; they may ask first.
 */
type Phase = 'idle' | 'asking' | 'sleeping' | 'held' | 'lingering' | 'leaving' | 'courteous'

/** All of one key in this process: who waits, in order; what we hold; what we last heard. */
export class Line implements Queue {
  readonly key: string
  readonly #keeping: LineKeeping
  readonly #waiters: Waiters
  #phase: Phase = 'idle'
  #hold: Hold | null = null
  #timer: Timer = null
  #closing = false
  /** What the next hold will be held under. */
  #bid: Bid | null = null
  /** The last answer, if it was a denial, and the last fault, if nothing was heard since. */
  #denial: Denial | null = null
  #fault: LockError | null = null
  #tries = 0
  /** When the call under way was made. */
  #calledAt = 0
  #courteousUntil = 0
  #watched = false
  #freedWhileAsking = false

  constructor(keeping: LineKeeping, key: string) {
    this.#keeping = keeping
    this.#waiters = new Waiters(keeping, key)
    this.key = key
  }

  /** The one in force. */
  get hold(): Hold | null {
    return this.#phase === 'held' ? this.#hold : null
  }

  get head(): Waiter | null {
    return this.#waiters.first
  }

  enter(request: Request): Promise<KeyLease | Contention> {
    const { oneTry, isPart } = request
    const jumps = oneTry && !comesBack(request)
    const free = this.#phase === 'idle' || (jumps && this.#phase === 'courteous')
    if (oneTry && (!free || this.#waiters.size > 0)) {
      if (this.#fault) {
        // The store is out of reach: nobody is known to have the key.
        if (!isPart) this.#keeping.journal.stats.counters.failed += 1
        return Promise.reject(this.#fault)
      }
      const contention = this.#contention(0)
      if (jumps) this.#keeping.journal.conflicted(this.key, this.#foreignHolder(), 1)
      if (!isPart) this.#keeping.journal.timedOut(contention)
      return Promise.resolve(contention)
    }
    const waiter = new Waiter(this.#keeping.env, request)
    this.#waiters.add(waiter, !free && (this.#hold ?? this.#denial) !== null, this.#foreignHolder())
    waiter.wait(this)
    if (free) this.#ask()
    else if (this.#phase === 'courteous') this.#pause(this.#courteousUntil - this.#keeping.env.now())
    return waiter.promise
  }

  /** The outermost lease on `hold` is done. Resolves to whether it still was ours. */
  leave(hold: Hold): Promise<Leaving> {
    if (!hold.held) {
      this.#keeping.compensation.add(hold.bid, hold.mayBeAtStore)
      return Promise.resolve(false)
    }
    const lingerMs = hold.since + hold.atLeastMs - this.#keeping.env.now()
    if (lingerMs > 0) {
      if (this.#closing) this.#dropHold()
      else this.#wait('lingering', lingerMs, () => this.#giveBack(hold), true)
      this.#released(hold)
      return LEFT
    }
    const next = this.#waiters.first
    if (!next || !hold.mayServe(next.request)) return new Promise((resolve) => this.#giveBack(hold, resolve))
    const { lease } = hold
    hold.handOffs += 1
    this.#give(next, hold, () => {
      if (lease) this.#keeping.journal.released(lease)
      return { previous: null, handedOff: true }
    })
    return LEFT
  }

  /** `hold` was lost; its holder knows already. */
  lost(hold: Hold): void {
    if (hold !== this.#hold) return
    // Kept for `atLeast`, and perhaps prolonged by a renewal just now: given back when that is over.
    if (this.#phase === 'lingering' && hold.mayBeAtStore) return
    this.#hold = null
    // Nobody is left to release it, and a renewal may just have prolonged it.
    if (this.#closing) this.#keeping.compensation.add(hold.bid, hold.mayBeAtStore)
    this.#proceed()
  }

  /** `grant` was freed by force. */
  evicted(grant: number): void {
    // A rotation whose reply was lost has raised it beyond what we know. A lower one was before us.
    if (!this.#hold || grant < this.#hold.grant) return
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
    const asking = owner === this.#bid?.claim.owner
    if (asking) this.freed()
    return asking || owner === this.#hold?.claim.owner
  }

  /** Turns everyone away; ends for good once what is under way has settled. */
  close(reason: LockError): void {
    this.#closing = true
    for (let waiter = this.#waiters.first; waiter; waiter = this.#waiters.first) {
      this.#fail(waiter, 'aborted', reason)
    }
    if (this.#phase === 'held' && this.#hold) this.#closeHold(this.#hold, reason)
    else if (this.#phase === 'lingering') this.#dropHold()
    else if (this.#phase !== 'asking' && this.#phase !== 'leaving') this.#proceed()
  }

  // A body gets until its deadline to stop; renewing for longer would let it keep `close` waiting.
  #closeHold(hold: Hold, reason: LockError): void {
    hold.windDown('the client was closed')
    hold.lease?.notify(reason)
    if (!hold.lease?.runsBody) void hold.lease?.dispose()
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
    this.#calledAt = this.#keeping.env.now()
    this.#freedWhileAsking = false
    const bid = (this.#bid ??= this.#keeping.compensation.resume(this.key))
    const { leaseMs, context } = head.request
    bid.sending(leaseMs)
    const { owner } = bid.claim
    const ask: Ask = { key: this.key, owner, leaseMs, holder: this.#keeping.holder(context) }
    this.#keeping.acquires.submit(ask, (answer, sentAt) => {
      if (answer instanceof LockError) {
        if (sentAt !== NEVER_SENT) bid.askUnanswered()
        this.#failed(head, answer)
      } else if (answer.granted) {
        this.#granted(head, bid, answer, sentAt)
      } else {
        this.#denied(head, answer)
      }
    })
  }

  #granted(asker: Waiter, bid: Bid, answer: Grant, sentAt: number): void {
    const { leaseMs } = asker.request
    this.#bid = null
    bid.spent = true
    const now = this.#keeping.env.now()
    if (now >= deadlineOf(sentAt, leaseMs)) {
      // Worth nothing any more. The store may think otherwise for a moment.
      this.#keeping.compensation.add(bid, true)
      return this.#failed(asker, tooSlow(this.key, now - sentAt, leaseMs))
    }
    const hold = new Hold(this.#keeping, this, bid, asker.request, { number: answer.grant, sentAt })
    this.#heard(null)
    this.#unwatch()
    this.#hold = hold
    this.#setPhase('held')
    // The asker may be gone. What it asked for goes to the next in line, if it suits, or back.
    const next = this.#waiters.first
    if (next && (next === asker || hold.mayServe(next.request))) {
      this.#give(next, hold, () => ({ previous: answer.previous, handedOff: false }))
    } else {
      this.#giveBack(hold)
    }
  }

  #denied(asker: Waiter, denial: Denial): void {
    this.#heard(denial)
    this.#waiters.meet(denial.holder.service)
    if (asker.waiting && !asker.conflicted) {
      asker.conflicted = true
      this.#keeping.journal.denied(this.key, denial)
    }
    if (asker.waiting && asker.request.oneTry) this.#refuse(asker)
    if (this.#freedWhileAsking || this.#waiters.size === 0) return this.#proceed()
    // Once: a store may answer each with word to ask again.
    this.#watched ||= this.#keeping.watch(this.key)
    this.#sleep(this.#keeping.pace.afterDenial(this.#tries++, denial, this.#watched))
  }

  #failed(asker: Waiter, error: LockError): void {
    this.#denial = null
    this.#fault = error
    // Only a store that is out of reach may come back; a wrong option stays wrong.
    const lasting = error.code !== 'STORE_UNAVAILABLE'
    if (asker.waiting && (lasting || asker.request.oneTry)) this.#fail(asker, 'failed', error)
    this.#sleep(this.#keeping.pace.afterFault(this.#tries++))
  }

  gaveUp(waiter: Waiter, why: 'timeout' | 'abort'): void {
    // Told to by a listener of the very event that says it is served.
    if (!waiter.waiting) return
    const fault = this.#fault ?? this.#silence(waiter)
    if (why === 'abort') this.#fail(waiter, 'aborted', aborted(this.key, waiter.request.signal))
    else if (fault) this.#fail(waiter, 'failed', fault)
    else this.#refuse(waiter)
    if (this.#waiters.size === 0 && this.#phase === 'sleeping') this.#rest()
  }

  /** The fault of a store that has not said a word for most of the wait. */
  #silence(waiter: Waiter): LockError | null {
    const calling = this.#phase === 'leaving' || (this.#phase === 'asking' && !this.#denial)
    const silentMs = this.#keeping.env.now() - this.#calledAt
    if (!calling || silentMs < waiter.request.waitMs / 2) return null
    return noAnswer(this.key)
  }

  #refuse(waiter: Waiter): void {
    const { beforeMs, isPart } = waiter.request
    const contention = this.#contention(beforeMs + this.#waiters.letGo(waiter))
    waiter.refuse(contention)
    if (!isPart) this.#keeping.journal.timedOut(contention)
  }

  #fail(waiter: Waiter, how: 'aborted' | 'failed', error: LockError): void {
    this.#waiters.letGo(waiter)
    if (!waiter.request.isPart) this.#keeping.journal.stats.counters[how] += 1
    waiter.fail(error)
  }

  #contention(waitedMs: number): Contention {
    const holder = this.#knownHolder()
    const where = this.#hold ? 'this process, ' : ''
    return new Contention(this.key, waitedMs, holder, holder && where + nameOf(holder))
  }

  // Reported when all is done: a listener may abort, acquire, release or close in reply.
  #give(waiter: Waiter, hold: Hold, report: () => { previous: Holder | null; handedOff: boolean }): void {
    const waitedMs = this.#waiters.letGo(waiter)
    // The others wait behind this one now.
    this.#waiters.meet(null)
    const lease = new KeyLease(hold)
    hold.lease = lease
    waiter.give(lease)
    this.#keeping.journal.granted(lease, waitedMs, report())
  }

  #giveBack(hold: Hold, done?: (result: Leaving) => void): void {
    const { lease } = hold
    const { compensation, journal } = this.#keeping
    hold.end()
    this.#setPhase('leaving')
    this.#calledAt = this.#keeping.env.now()
    this.#keeping.releases.submit(hold.claim, (answer) => {
      this.#hold = null
      const failed = answer instanceof LockError
      compensation.add(hold.bid, failed)
      if (!failed && answer.wanted && !this.#closing) this.#pause(this.#courtesyMs())
      else this.#proceed()
      if (lease && !failed && !answer.released) lease.wasGone(lostBeforeRelease(this.key))
      else this.#released(hold)
      const failure = failed ? releaseFailed(this.key, answer) : null
      if (failure) journal.fault(failure)
      done?.(failure ?? (!failed && answer.released))
    })
  }

  #released(hold: Hold): void {
    if (hold.lease) this.#keeping.journal.released(hold.lease)
    hold.lease = null
  }

  #courtesyMs(): number {
    return this.#keeping.pace.courtesy(this.#keeping.push(), this.#keeping.latencyMs())
  }

  /**
   * Kept up although nobody waits here: one task that comes back at once would shut the others out. But
   * a waiter is not to lose its whole wait to courtesy.
   */
  #pause(ms: number): void {
    const head = this.#waiters.first
    const pauseMs = Math.max(0, Math.min(ms, (head?.request.waitMs ?? Infinity) / 2))
    this.#courteousUntil = this.#keeping.env.now() + pauseMs
    this.#wait('courteous', pauseMs, () => this.#proceed(), !head)
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
    this.#unwatch()
    if (this.#bid) this.#keeping.compensation.add(this.#bid)
    this.#bid = null
    this.#keeping.forget(this)
  }

  #unwatch(): void {
    if (this.#watched) this.#keeping.unwatch(this.key)
    this.#watched = false
  }

  #heard(denial: Denial | null): void {
    this.#denial = denial
    if (this.#fault || !denial) this.#tries = 0
    this.#fault = null
  }

  #knownHolder(): Holder | null {
    return this.#hold ? this.#keeping.holder(this.#hold.request.context) : (this.#denial?.holder ?? null)
  }

  #foreignHolder(): string | null {
    return this.#hold ? null : (this.#denial?.holder.service ?? null)
  }

  #wait(phase: Phase, ms: number, then: () => void, background: boolean): void {
    this.#setPhase(phase)
    this.#timer = this.#keeping.env.setTimer(ms, then, background)
  }

  /** A timer belongs to the phase that set it. */
  #setPhase(phase: Phase): void {
    if (this.#timer !== null) this.#keeping.env.clearTimer(this.#timer)
    this.#timer = null
    if (this.#phase === 'held') this.#keeping.crowd.held -= 1
    if (phase === 'held') this.#keeping.crowd.held += 1
    this.#phase = phase
  }
}
