import type { Batcher } from './batcher.ts'
import { Bid } from './bid.ts'
import type { Compensation } from './compensation.ts'
import { NEVER_SENT } from './connection.ts'
import type { Timer } from './environment.ts'
import { LockError } from './errors.ts'
import { Fifo } from './fifo.ts'
import { deadlineOf, Hold, type HoldKeeping, LEFT, type Leaving } from './hold.ts'
import { Lease } from './lease.ts'
import type { Request, Settings } from './options.ts'
import { Pace } from './pace.ts'
import type { Answer, Ask, Claim, Denial, Grant, Holder, ReleaseAnswer } from './store.ts'
import { aborted, Contention, type Queue, Waiter } from './waiter.ts'

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
export class Line implements Queue {
  readonly key: string
  readonly #keeping: LineKeeping
  readonly #waiters = new Fifo<Waiter>()
  #phase: Phase = 'idle'
  #hold: Hold | null = null
  #timer: Timer = null
  #closing = false
  readonly #pace: Pace
  /** What the next hold will be held under. */
  #bid: Bid | null = null
  /** The last answer, if it was a denial, and the last fault, if nothing was heard since. */
  #denial: Denial | null = null
  #fault: LockError | null = null
  #askedAt = 0
  #freedWhileAsking = false

  constructor(keeping: LineKeeping, key: string) {
    this.#keeping = keeping
    this.#pace = new Pace(keeping.env, keeping.settings)
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
    const waiter = new Waiter(this.#keeping.env, request, this)
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
    if (next && hold.mayServe(next.request)) {
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
    if (this.#closing) this.#keeping.compensation.add(hold.bid)
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
    const asking = owner === this.#bid?.claim.owner
    if (asking) this.freed()
    return asking || owner === this.#hold?.claim.owner
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
    const bid = (this.#bid ??= new Bid({ key: this.key, owner: this.#keeping.env.newId() }))
    const { leaseMs, context } = head.request
    const { owner } = bid.claim
    const ask: Ask = { key: this.key, owner, leaseMs, holder: this.#keeping.holder(context) }
    this.#keeping.acquires.submit(ask, (answer, sentAt) => {
      if (answer instanceof LockError) {
        if (sentAt !== NEVER_SENT) bid.unanswered(leaseMs)
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
    if (this.#keeping.env.now() >= deadlineOf(sentAt, leaseMs)) {
      // Worth nothing any more. The store may think otherwise for a moment.
      bid.unanswered(leaseMs)
      this.#keeping.compensation.add(bid)
      this.#failed(asker, new LockError('STORE_UNAVAILABLE', 'the store answered after the lease was over'))
      return
    }
    const hold = new Hold(this.#keeping, bid, asker.request, { number: answer.grant, sentAt })
    this.#heard(null)
    this.#keeping.unwatch(this.key)
    this.#hold = hold
    this.#setPhase('held')
    // The asker may be gone. What it asked for goes to the next in line, if it suits, or back.
    const next = this.#waiters.first
    if (next && (next === asker || hold.mayServe(next.request))) {
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
    this.#keeping.watch(this.key)
    this.#sleep(this.#pace.afterDenial(denial, this.#keeping.push()))
  }

  #failed(asker: Waiter, error: LockError): void {
    this.#denial = null
    this.#fault = error
    // Only a store that is out of reach may come back; a wrong option stays wrong.
    const lasting = error.code !== 'STORE_UNAVAILABLE'
    if (asker.waiting && (lasting || asker.request.waitMs === 0)) {
      this.#waiters.delete(asker)
      this.#keeping.journal.stats.counters.failed += 1
      asker.fail(error)
    }
    this.#sleep(this.#pace.afterFault())
  }

  gaveUp(waiter: Waiter, why: 'timeout' | 'abort'): void {
    const { counters } = this.#keeping.journal.stats
    const fault = this.#fault ?? this.#silence(waiter)
    if (why === 'abort') {
      this.#waiters.delete(waiter)
      counters.aborted += 1
      waiter.fail(aborted(this.key, waiter.request.signal))
    } else if (fault) {
      this.#waiters.delete(waiter)
      counters.failed += 1
      waiter.fail(fault)
    } else {
      this.#refuse(waiter)
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

  #giveBack(hold: Hold, done?: (result: Leaving) => void): void {
    const { lease } = hold
    const { compensation, journal } = this.#keeping
    hold.end()
    this.#setPhase('leaving')
    this.#keeping.releases.submit(hold.claim, (answer) => {
      this.#hold = null
      if (answer instanceof LockError) hold.bid.unanswered(hold.leaseMs)
      compensation.add(hold.bid)
      if (answer instanceof LockError) {
        if (lease) this.#released(hold)
        this.#proceed()
        const failure = releaseFailed(this.key, answer)
        journal.fault(failure)
        done?.(failure)
        return
      }
      if (lease && answer.released) this.#released(hold)
      else if (lease) journal.lost(lease, lostBeforeRelease(this.key))
      if (answer.wanted && !this.#closing) this.#pause()
      else this.#proceed()
      done?.(answer.released)
    })
  }

  #released(hold: Hold): void {
    if (hold.lease) this.#keeping.journal.released(hold.lease)
    hold.lease = null
  }

  // Kept up although nobody waits here: one task that comes back at once would shut the others out.
  #pause(): void {
    const ms = this.#pace.courtesy(this.#keeping.push(), this.#keeping.latencyMs())
    this.#wait('courteous', ms, () => this.#proceed(), false)
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
    if (this.#bid) this.#keeping.compensation.add(this.#bid)
    this.#bid = null
    this.#keeping.forget(this)
  }

  #heard(denial: Denial | null): void {
    this.#denial = denial
    if (this.#fault || !denial) this.#pace.restart()
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
  return new LockError(
    'LOCK_LOST',
    `the lease on "${key}" was already gone from the store when it was released`,
    {
      key,
    },
  )
}
