import { onAbort } from '../abort.ts'
import { type Environment, keepAwake, type Timer } from '../environment.ts'
import { LockError } from '../errors.ts'
import type { Lease } from '../lease.ts'
import type { Journal } from '../monitor/journal.ts'
import { runOutside } from '../section.ts'
import { TOKENS_PER_GRANT } from '../token.ts'
import type { Term, TermEnd } from './term.ts'

/** A lease ends here this much earlier than at the store: after it, another may lead. */
const MARGIN = 0.05
const MIN_GRACE_MS = 50

/** A term and the lease behind it: ends the signal, and reports a body that does not heed it. */
export class Tenure implements Term {
  readonly number: number
  readonly #env: Environment
  readonly #journal: Journal
  readonly #lease: Lease
  readonly #controller = new AbortController()
  readonly #since: number
  readonly #leaseMs: number
  readonly #unheed: () => void
  /** A leader keeps its process alive: renewals alone do not. */
  readonly #letSleep: () => void
  #grace: Timer = null
  #told: { readonly why: TermEnd; readonly at: number } | null = null
  #overran = false
  #over = false

  constructor(env: Environment, journal: Journal, lease: Lease) {
    this.#env = env
    this.#journal = journal
    this.#lease = lease
    this.number = grantOf(lease)
    this.#since = env.now()
    this.#leaseMs = lease.remainingMs
    this.#letSleep = keepAwake(env)
    const { signal } = lease
    this.#unheed = onAbort(signal, () => this.#leaseEnded(signal.reason as LockError))
  }

  get name(): string {
    return this.#lease.key
  }

  get token(): bigint {
    return this.#lease.token
  }

  get signal(): AbortSignal {
    // Reading notices a deadline that passed while the event loop was blocked.
    void this.#lease.held
    return this.#controller.signal
  }

  assertLeader(): void {
    this.signal.throwIfAborted()
  }

  /** Computed, not remembered. */
  get leads(): boolean {
    return !this.signal.aborted
  }

  get over(): boolean {
    return this.#over
  }

  /** Whether it lasted for as long as a lease: then what went wrong is not what went wrong before. */
  get lasted(): boolean {
    return this.lastedMs >= this.#leaseMs
  }

  get lastedMs(): number {
    return this.#env.now() - this.#since
  }

  /** Asks the body to end. The lease is kept, and renewed, until it has. */
  tell(why: TermEnd, reason: LockError): void {
    if (this.#over || this.#told) return
    this.#told = { why, at: this.#env.now() }
    // Still the only leader: there is time, but not for ever.
    this.#allow(this.#lease.held ? this.#lease.remainingMs / 2 : this.#marginMs)
    this.#abort(reason)
  }

  /** The client closes: what is not reported by its end is not reported at all. */
  close(reason: LockError): void {
    this.#letSleep()
    this.tell('closed', reason)
    if (!this.#lease.held) this.#overrun()
  }

  /** The body has ended; `thrown` holds what it threw. */
  finish(thrown: { readonly error: unknown } | null): TermEnd {
    // Noticed now, a loss is still the reason.
    void this.#lease.held
    const { signal } = this.#controller
    const why = this.#told?.why ?? (thrown ? 'failed' : 'returned')
    const heeded = signal.aborted && isAnswerTo(signal, thrown?.error)
    this.#over = true
    this.#letSleep()
    this.#allow(null)
    this.#unheed()
    if (!signal.aborted) this.#abort(overError(this.name))
    const { name, number, token, lastedMs } = this
    const error = heeded ? undefined : thrown?.error
    this.#journal.termEnded({ name, number, token, why, lastedMs, error })
    return why
  }

  #leaseEnded(reason: LockError): void {
    if (this.#lease.held) return this.tell(reason.code === 'CLOSED' ? 'closed' : 'lost', reason)
    this.tell('lost', reason)
    // Told before, by `resign` perhaps, it had more time than it has now.
    this.#allow(this.#marginMs)
  }

  get #marginMs(): number {
    return Math.max(this.#leaseMs * MARGIN, MIN_GRACE_MS)
  }

  /** Listeners are foreign code. */
  #abort(reason: LockError): void {
    runOutside(() => this.#controller.abort(reason))
  }

  #allow(graceMs: number | null): void {
    if (this.#grace !== null) this.#env.clearTimer(this.#grace)
    this.#grace = null
    if (graceMs === null || this.#over || this.#overran) return
    this.#grace = this.#env.setTimer(graceMs, () => this.#overrun(), true)
  }

  #overrun(): void {
    this.#allow(null)
    if (this.#over || this.#overran || !this.#told) return
    this.#overran = true
    const { name, number, token } = this
    this.#journal.termOverran({ name, number, token, overdueMs: this.#env.now() - this.#told.at })
  }
}

/** The number of a term. Passed on inside a process, a grant serves several holders. */
export function grantOf(lease: Lease): number {
  return Number(lease.token / BigInt(TOKENS_PER_GRANT))
}

/** Thrown because the signal said so, which is no failure. */
function isAnswerTo(signal: AbortSignal, error: unknown): boolean {
  const reason: unknown = signal.reason
  if (error === reason || !(error instanceof Error)) return error === reason
  return error.cause === reason || error.name === 'AbortError' || error instanceof LockError
}

function overError(name: string): LockError {
  return new LockError('LOCK_NOT_HELD', `the term of "${name}" is over`, { key: name })
}
