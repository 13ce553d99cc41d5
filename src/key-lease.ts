import type { Contention } from './contention.ts'
import type { Duration } from './duration.ts'
import type { Environment } from './environment.ts'
import { LockError, show } from './errors.ts'
import { type Hold, LEFT, type Leaving } from './hold.ts'
import type { Journal } from './monitor/journal.ts'
import type { Lease, LeaseJson } from './lease.ts'
import { printAsLease } from './lease-print.ts'
import { LeaseSignal } from './lease-signal.ts'
import { checkLease, type Request } from './options.ts'
import { Level } from './reentry.ts'
import { tokenOf } from './token.ts'

/** How the lease ended, if it did. Losing it does not end it: it still wants to be released once. */
type End = 'released' | 'disposed'

/** What is to hear of a part that is lost, or asked to stop. */
interface Whole {
  partLost(reason: LockError): void
  partNotified(reason: LockError): void
}

/** A lease on one key. */
export class KeyLease implements Lease {
  static {
    printAsLease(this)
  }

  readonly key: string
  readonly #hold: Hold
  readonly #outer: KeyLease | null
  readonly #since: number
  readonly #handOff: number
  #level: Level | null = null
  #whole: Whole | null = null
  #runsBody = false
  #signal: LeaseSignal | null = null
  #end: End | null = null
  /** The grant and the length of the hold stay as they were when the lease ended. */
  #final: { grant: number; heldMs: number } | null = null
  #loss: LockError | null = null
  #notice: LockError | null = null

  /** Leases come from `Locks`; there is no reason to make one. */
  constructor(hold: Hold, outer: KeyLease | null = null) {
    this.key = hold.claim.key
    this.#hold = hold
    this.#outer = outer
    this.#since = hold.env.now()
    this.#handOff = outer ? outer.#handOff : hold.handOffs
  }

  get keys(): readonly string[] {
    return [this.key]
  }

  get token(): bigint {
    return tokenOf(this.#final?.grant ?? this.#hold.grant, this.#handOff)
  }

  tokenFor(key: string): bigint {
    if (key === this.key) return this.token
    throw new LockError('LOCK_NOT_HELD', `this lease is on "${this.key}", not on ${show(key)}`, {
      key: this.key,
    })
  }

  get held(): boolean {
    return this.#end === null && this.#loss === null && this.#hold.held
  }

  get remainingMs(): number {
    return this.held ? this.#hold.remainingMs : 0
  }

  get signal(): AbortSignal {
    // Reading notices a deadline that passed while the event loop was blocked.
    void this.held
    this.#signal ??= new LeaseSignal(this.#loss ?? this.#notice)
    return this.#signal.signal
  }

  assertHeld(): void {
    if (this.held) return
    // Disposed with a notice: released by `close`, before its holder came to use it.
    throw this.#loss ?? (this.#end === 'disposed' ? this.#notice : null) ?? this.#notHeld('it was released')
  }

  async extend(lease?: Duration): Promise<void> {
    const leaseMs = lease === undefined ? this.#hold.leaseMs : checkLease(lease)
    this.assertHeld()
    this.#assertOpen()
    try {
      await this.#hold.extend(leaseMs)
    } finally {
      // First: if it was released meanwhile, the store may say that it is gone, and that is no loss.
      this.assertHeld()
    }
    // Closed meanwhile: then the deadline has not moved.
    this.#assertOpen()
  }

  async release(): Promise<boolean> {
    if (this.#end === 'released') throw this.#notHeld('it was released before')
    if (this.#end === 'disposed') throw this.#notHeld('its section has ended, or the client was closed')
    // Noticed now, a loss is still reported as one.
    void this.held
    this.#end = 'released'
    const left = await this.#leave()
    if (left instanceof LockError) throw left
    return left
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose()
  }

  toJSON(): LeaseJson {
    return {
      key: this.key,
      token: String(this.token),
      held: this.held,
      remainingMs: Math.round(this.remainingMs),
    }
  }

  // Below: for core.

  get env(): Environment {
    return this.#hold.env
  }

  get journal(): Journal {
    return this.#hold.journal
  }

  /** Whether it goes on by itself until it is released; a nested one does as the outer one was asked to. */
  get renews(): boolean {
    return this.#hold.request.renew
  }

  /** What a renewal makes it last for. */
  get leaseMs(): number {
    return this.#hold.leaseMs
  }

  /** Released by the holder or over with its section; a lost lease has not ended yet. */
  get ended(): boolean {
    return this.#end !== null
  }

  get loss(): LockError | null {
    return this.#loss
  }

  get heldMs(): number {
    return this.#final?.heldMs ?? this.env.now() - this.#since
  }

  /** A body of `using` runs under it from now on: `close` waits for that. */
  startBody(): void {
    this.#runsBody = true
  }

  get runsBody(): boolean {
    return this.#runsBody
  }

  /** As `release`, unless that was done. Never rejects; a store that cannot be told is reported. */
  dispose(): Promise<Leaving> {
    if (this.#end !== null) return LEFT
    void this.held
    this.#end = 'disposed'
    return this.#leave()
  }

  lose(reason: LockError): void {
    if (this.#loss || this.#end !== null) return
    this.#finish()
    this.#loss = reason
    this.#signal?.abort(reason)
    this.#level?.end(reason)
    this.#whole?.partLost(reason)
    if (!this.#outer) this.#hold.journal.lost(this, reason)
  }

  /** The store said at the release that the lease was gone. */
  wasGone(reason: LockError): void {
    this.#loss ??= reason
    this.#hold.journal.lost(this, reason)
  }

  /** Asks the holder to stop, while the lease is still in force. */
  notify(reason: LockError): void {
    this.#notice ??= reason
    this.#signal?.abort(reason)
    this.#level?.notify(reason)
    this.#whole?.partNotified(reason)
  }

  /** It is one of several from now on. */
  join(whole: Whole): void {
    this.#whole = whole
    if (this.#loss) whole.partLost(this.#loss)
    else if (this.#notice) whole.partNotified(this.#notice)
  }

  /** Of a lease on several keys, the one on this key. */
  partOn(key: string): KeyLease | null {
    return key === this.key ? this : null
  }

  /** Another key of the same lease was lost: this one ends with its lease, if its holder does not end it. */
  windDown(why: string): void {
    if (!this.#outer && this.held) this.#hold.windDown(why)
  }

  /** Nobody has used it. */
  giveBack(): void {
    if (!this.#outer) this.#hold.atLeastMs = 0
    void this.dispose()
  }

  enter(request: Request): Promise<KeyLease | Contention> {
    this.#level ??= new Level(this)
    return this.#level.enter(request)
  }

  nest(): KeyLease {
    this.#hold.journal.reentered()
    return new KeyLease(this.#hold, this)
  }

  #leave(): Promise<Leaving> {
    // The hold may have run out just now, unnoticed.
    const held = this.#loss === null && this.#hold.held
    this.#finish()
    this.#level?.end(
      new LockError('LOCK_LOST', `the section around this lease on "${this.key}" has ended`, {
        key: this.key,
      }),
    )
    if (this.#outer) {
      this.#outer.#level?.left(this)
      return Promise.resolve(held)
    }
    return this.#hold.leave()
  }

  #finish(): void {
    this.#final ??= { grant: this.#hold.grant, heldMs: this.heldMs }
  }

  #assertOpen(): void {
    if (this.#notice) throw this.#notice
  }

  #notHeld(why: string): LockError {
    return new LockError('LOCK_NOT_HELD', `the lease on "${this.key}" is not held any more: ${why}`, {
      key: this.key,
    })
  }
}
