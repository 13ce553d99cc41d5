import type { Duration } from './duration.ts'
import type { Environment } from './environment.ts'
import { LockError, show } from './errors.ts'
import { LEFT, type Leaving } from './hold.ts'
import type { KeyLease } from './key-lease.ts'
import type { Lease, LeaseJson } from './lease.ts'
import { printAsLease } from './lease-print.ts'
import { LeaseSignal } from './lease-signal.ts'
import { checkLease } from './options.ts'

/** A lease as core has it. */
export type AnyLease = KeyLease | Bundle

/** A lease on several keys: in force as long as all of its parts are. */
export class Bundle implements Lease {
  static {
    printAsLease(this)
  }

  readonly keys: readonly string[]
  readonly #parts: ReadonlyMap<string, KeyLease>
  #signal: LeaseSignal | null = null
  #end: 'released' | 'disposed' | null = null
  #loss: LockError | null = null
  #notice: LockError | null = null

  /** `parts` are in force, one for each key, and at least two. */
  constructor(parts: readonly KeyLease[]) {
    this.keys = Object.freeze(parts.map(({ key }) => key))
    this.#parts = new Map(parts.map((part) => [part.key, part]))
    for (const part of parts) part.join(this)
  }

  get key(): string {
    return this.keys[0] as string
  }

  get token(): bigint {
    const message = `this lease is on ${this.keys.length} keys, each with a token of its own: use tokenFor(key)`
    throw new LockError('INVALID_OPTION', message, { key: this.key })
  }

  tokenFor(key: string): bigint {
    const part = this.#parts.get(key)
    if (part) return part.token
    throw new LockError('LOCK_NOT_HELD', `this lease is on ${this.#shown()}, not on ${show(key)}`, {
      key: this.key,
    })
  }

  get held(): boolean {
    // All of them, always: reading is how a part notices that its deadline has passed.
    let held = this.#end === null
    for (const part of this.#parts.values()) if (!part.held) held = false
    return held && this.#loss === null
  }

  get remainingMs(): number {
    let least = Infinity
    for (const part of this.#parts.values()) least = Math.min(least, part.remainingMs)
    return this.held ? least : 0
  }

  get signal(): AbortSignal {
    void this.held
    this.#signal ??= new LeaseSignal(this.#loss ?? this.#notice)
    return this.#signal.signal
  }

  assertHeld(): void {
    if (this.held) return
    if (this.#loss) throw this.#loss
    if (this.#end === 'released') throw this.#notHeld('it was released')
    for (const part of this.#parts.values()) part.assertHeld()
    throw this.#notHeld('it has ended')
  }

  async extend(lease?: Duration): Promise<void> {
    if (lease !== undefined) checkLease(lease)
    this.assertHeld()
    if (this.#notice) throw this.#notice
    await Promise.all([...this.#parts.values()].map((part) => part.extend(lease)))
    this.assertHeld()
  }

  async release(): Promise<boolean> {
    if (this.#end === 'released') throw this.#notHeld('it was released before')
    const isOver = this.#end === 'disposed' || [...this.#parts.values()].some(({ ended }) => ended)
    if (isOver) throw this.#notHeld('its section has ended, or the client was closed')
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
    const tokens = this.keys.map((key): [string, string] => [key, String(this.tokenFor(key))])
    return {
      keys: this.keys,
      tokens: Object.fromEntries(tokens),
      held: this.held,
      remainingMs: Math.round(this.remainingMs),
    }
  }

  // Below: for core.

  get env(): Environment {
    return (this.#parts.get(this.key) as KeyLease).env
  }

  get renews(): boolean {
    return [...this.#parts.values()].every(({ renews }) => renews)
  }

  get leaseMs(): number {
    return Math.min(...[...this.#parts.values()].map(({ leaseMs }) => leaseMs))
  }

  /** All that was taken together is given back together. */
  get ended(): boolean {
    return this.#end !== null
  }

  get loss(): LockError | null {
    if (this.#loss) return this.#loss
    // Found gone when it was released: the whole was over by then.
    for (const { loss } of this.#parts.values()) if (loss) return loss
    return null
  }

  partOn(key: string): KeyLease | null {
    return this.#parts.get(key) ?? null
  }

  startBody(): void {
    for (const part of this.#parts.values()) part.startBody()
  }

  dispose(): Promise<Leaving> {
    if (this.#end !== null) return LEFT
    void this.held
    this.#end = 'disposed'
    return this.#leave()
  }

  /** The others are in force still. Its holder gives them back; if it does not, they must not stay for ever. */
  partLost(reason: LockError): void {
    if (this.#loss || this.#end !== null) return
    this.#loss = reason
    for (const part of this.#parts.values())
      part.windDown(`"${reason.key}", taken together with it, was lost`)
    this.#signal?.abort(reason)
  }

  partNotified(reason: LockError): void {
    if (this.#notice) return
    this.#notice = reason
    this.#signal?.abort(reason)
  }

  async #leave(): Promise<Leaving> {
    const left = await Promise.all([...this.#parts.values()].map((part) => part.dispose()))
    const failure = left.find((each) => each instanceof LockError)
    return failure ?? (this.#loss === null && left.every((each) => each === true))
  }

  #notHeld(why: string): LockError {
    return new LockError('LOCK_NOT_HELD', `the lease on ${this.#shown()} is not held any more: ${why}`, {
      key: this.key,
    })
  }

  #shown(): string {
    return `"${this.key}" and ${this.keys.length - 1} more`
  }
}
