// For users whose `lib` has no Symbol.asyncDispose: the declarations of this file bring it along.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Duration } from './duration.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import { type Hold, LEFT, type Leaving } from './hold.ts'
import type { Journal } from './monitor/journal.ts'
import { checkLease, type Request } from './options.ts'
import { Level } from './reentry.ts'
import { runOutside } from './section.ts'
import { tokenOf } from './token.ts'
import type { Contention } from './waiter.ts'

/** How the lease ended, if it did. Losing it does not end it: it still wants to be released once. */
type End = 'released' | 'disposed'

/**
 * What a holder has in hand. It is in force until it is released or lost, whichever comes first; code
 * that must not run after a loss passes `signal` on or calls `assertHeld()` before each effect. No
 * check in this process is enough on its own, since a pause may follow it: send `token` along and let
 * the resource refuse older ones.
 */
export class Lease {
  readonly key: string
  readonly #hold: Hold
  readonly #outer: Lease | null
  readonly #since: number
  readonly #handOff: number
  #level: Level | null = null
  #runsBody = false
  #controller: AbortController | null = null
  #end: End | null = null
  /** The grant and the length of the hold stay as they were when the lease ended. */
  #final: { grant: number; heldMs: number } | null = null
  #loss: LockError | null = null
  #notice: LockError | null = null

  /** Leases come from `Locks`; there is no reason to make one. */
  constructor(hold: Hold, outer: Lease | null = null) {
    this.key = hold.claim.key
    this.#hold = hold
    this.#outer = outer
    this.#since = hold.env.now()
    this.#handOff = outer ? outer.#handOff : hold.handOffs
  }

  get keys(): readonly string[] {
    return [this.key]
  }

  /** Greater than every token given out for this key before. Rises in place with `rotateToken`. */
  get token(): bigint {
    return tokenOf(this.#final?.grant ?? this.#hold.grant, this.#handOff)
  }

  tokenFor(key: string): bigint {
    if (key === this.key) return this.token
    throw new LockError('LOCK_NOT_HELD', `this lease is on "${this.key}", not on "${String(key)}"`, {
      key: this.key,
    })
  }

  /** Whether the lease is in force at this moment, by the local clock and with the margin taken off. */
  get held(): boolean {
    return this.#end === null && this.#loss === null && this.#hold.held
  }

  /** Until the local deadline. A renewal moves it. */
  get remainingMs(): number {
    return this.held ? this.#hold.remainingMs : 0
  }

  /** Aborts when the lease is lost, before the key can pass to another, and when the client closes. */
  get signal(): AbortSignal {
    // Reading notices a deadline that passed while the event loop was blocked.
    void this.held
    if (!this.#controller) {
      this.#controller = new AbortController()
      const reason = this.#loss ?? this.#notice
      if (reason) this.#controller.abort(reason)
    }
    return this.#controller.signal
  }

  /** Throws LOCK_LOST or LOCK_NOT_HELD unless the lease is in force. */
  assertHeld(): void {
    if (this.held) return
    // Disposed with a notice: released by `close`, before its holder came to use it.
    throw this.#loss ?? (this.#end === 'disposed' ? this.#notice : null) ?? this.#notHeld('it was released')
  }

  /**
   * Renews now, and with an argument makes the lease that long from now on. It never shortens what
   * the store has already promised. Resolves when the store has confirmed it. CLOSED while closing.
   */
  async extend(lease?: Duration): Promise<void> {
    const leaseMs = lease === undefined ? this.#hold.leaseMs : checkLease(lease)
    this.assertHeld()
    if (this.#notice) throw this.#notice
    await this.#hold.extend(leaseMs)
    this.assertHeld()
  }

  /**
   * Gives the key back. True if it was ours until then; false if it had been lost: that is no error
   * here. LOCK_RELEASE_FAILED if the store could not be told; it is told again in the background, and
   * the key becomes free with the lease at the latest. A second call is a mistake: LOCK_NOT_HELD.
   */
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

  /** Releases the lease if that was not done yet. Never throws: the body's own outcome counts. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose()
  }

  toJSON(): { key: string; token: string; held: boolean; remainingMs: number } {
    return {
      key: this.key,
      token: String(this.token),
      held: this.held,
      remainingMs: Math.round(this.remainingMs),
    }
  }

  // Below: for core, not part of the documented API.

  /** @internal */
  get env(): Environment {
    return this.#hold.env
  }

  /** @internal */
  get journal(): Journal {
    return this.#hold.journal
  }

  /** @internal Released by the holder or over with its section; a lost lease has not ended yet. */
  get ended(): boolean {
    return this.#end !== null
  }

  /** @internal */
  get loss(): LockError | null {
    return this.#loss
  }

  /** @internal */
  get heldMs(): number {
    return this.#final?.heldMs ?? this.env.now() - this.#since
  }

  /** @internal A body of `using` runs under it from now on: `close` waits for that. */
  startBody(): void {
    this.#runsBody = true
  }

  /** @internal */
  get runsBody(): boolean {
    return this.#runsBody
  }

  /** @internal As `release`, unless that was done. Never rejects; a store that cannot be told is reported. */
  dispose(): Promise<Leaving> {
    if (this.#end !== null) return LEFT
    void this.held
    this.#end = 'disposed'
    return this.#leave()
  }

  /** @internal */
  lose(reason: LockError): void {
    if (this.#loss || this.#end !== null) return
    this.#finish()
    this.#loss = reason
    this.#abort(reason)
    this.#level?.end(reason)
    if (!this.#outer) this.#hold.journal.lost(this, reason)
  }

  /** @internal The store said at the release that the lease was gone. */
  wasGone(reason: LockError): void {
    this.#loss ??= reason
    this.#hold.journal.lost(this, reason)
  }

  /** @internal Asks the holder to stop, while the lease is still in force. */
  notify(reason: LockError): void {
    this.#notice ??= reason
    this.#abort(reason)
    this.#level?.notify(reason)
  }

  /** @internal */
  enter(request: Request): Promise<Lease | Contention> {
    this.#level ??= new Level(this)
    return this.#level.enter(request)
  }

  /** @internal */
  nest(): Lease {
    this.#hold.journal.reentered()
    return new Lease(this.#hold, this)
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

  // Its listeners are foreign code.
  #abort(reason: LockError): void {
    const controller = this.#controller
    if (controller) runOutside(() => controller.abort(reason))
  }

  #finish(): void {
    this.#final ??= { grant: this.#hold.grant, heldMs: this.heldMs }
  }

  #notHeld(why: string): LockError {
    return new LockError('LOCK_NOT_HELD', `the lease on "${this.key}" is not held any more: ${why}`, {
      key: this.key,
    })
  }
}
