import { describeError, LockError } from '../errors.ts'
import type { AnyLease } from '../bundle.ts'
import type { Isolation } from '../options.ts'
import { controlIn, refusedControl } from './control.ts'
import { within } from './limit.ts'
import { isTooLongAPause } from './postgres.ts'

/** What a transaction has to keep to. */
export interface Terms {
  readonly key: string
  readonly lease: AnyLease
  readonly isolation: Isolation | null
  /**
   * How long one step may take: getting a connection, a statement, a pause between two. A third of the
   * lease. A process that freezes has renewed its lease at most a third before that, so that a statement
   * and a pause after it are over before the lease is.
   */
  readonly stepMs: number
  /** How long the whole may take; null if the lease is renewed and the work may go on with it. */
  readonly wholeMs: number | null
}

/**
 * With the time limits of this moment: those that the server is to keep count from when it is told, and before that
 * one may have to wait for a turn, for the guard's table and for a connection.
 */
export function asOfNow(terms: Omit<Terms, 'stepMs' | 'wholeMs'>): Terms {
  const { leaseMs, remainingMs: leftMs, renews } = terms.lease
  // A statement and a pause are over in time also if no renewal has got through for a while.
  const stepMs = renews ? Math.min(leaseMs / 3, leftMs / 2) : leftMs / 3
  return { ...terms, stepMs: atLeastOne(stepMs), wholeMs: renews ? null : atLeastOne(leftMs) }
}

function atLeastOne(ms: number): number {
  return Math.max(1, Math.floor(ms))
}

/** An open transaction, whichever driver it belongs to. */
export interface Session {
  /** For the guard and for the caller's function. */
  readonly tx: unknown
  /** Why the connection was lost before COMMIT, so that the server has rolled back; null while it is there. */
  readonly broken: unknown
  /** What to say if a statement got this error because the connection is lost; null if that is not why. */
  lossIn(error: unknown): LockError | null
  /**
   * Rejects with the database's own error if it refuses, with an `unknownOutcome` if nobody knows. The
   * caller has just seen that the lease is in force.
   */
  commit(): Promise<void>
  /** Never rejects. Does nothing once the session is over, however it ended. */
  rollback(): Promise<void>
  /**
   * The lease is lost and the function still runs: what it has locked must not wait for its end. Once the end has begun,
   * this only interrupts what that waits for. Absent where nothing can be undone without letting later statements be stored by themselves.
   */
  undo?(): void
}

/**
 * Stands between the caller's function and the connection. A statement that is sent after ROLLBACK or COMMIT
 * is one of its own and commits at once, perhaps in the middle of what another task does on the connection.
 */
export class Gate {
  readonly #terms: Terms
  #over = false
  #misuse: LockError | null = null
  /** Statements without an answer. */
  #open = 0
  #quietSince: number
  /** The pause before those. */
  #pauseMs = 0
  readonly #waiting: (() => void)[] = []

  constructor(terms: Terms) {
    this.#terms = terms
    this.#quietSince = terms.lease.env.now()
  }

  close(): void {
    this.#over = true
  }

  get closed(): boolean {
    return this.#over
  }

  /** Why no statement may pass; null if one may. */
  get refusal(): LockError | null {
    const { key, lease } = this.#terms
    if (this.#over) {
      const message = `the transaction on "${key}" is over; await every query before its function returns`
      return new LockError('LOCK_NOT_HELD', message, { key })
    }
    return lease.held ? null : notHeld(this.#terms)
  }

  /** As `refusal`, for a statement of the function. */
  refusalOf(text: unknown): LockError | null {
    const { refusal } = this
    const word = refusal ? null : controlIn(text)
    return word === null ? refusal : this.misuse(word)
  }

  /** The function wanted to end the transaction. Whatever it makes of the refusal, nothing may be committed. */
  misuse(word: string): LockError {
    const refusal = refusedControl(this.#terms.key, word)
    this.#misuse ??= refusal
    return refusal
  }

  /** Why the transaction may not be committed, though its function has succeeded. */
  get misused(): LockError | null {
    return this.#misuse
  }

  sent(): void {
    this.#pauseMs = this.pauseMs
    this.#open += 1
  }

  answered(): void {
    this.#open -= 1
    this.#quietSince = this.#terms.lease.env.now()
    if (this.#open === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Resolves when all statements have been answered. */
  async idle(): Promise<void> {
    if (this.#open > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /**
   * In front of COMMIT, which has to wait for what the function did not wait for: behind that it might come after the
   * lease, and nobody could tell whether a driver still keeps it in a queue. Rejects if nothing may be committed any more.
   * `savepoints`: those that have not ended.
   */
  async settled(savepoints: Iterable<Promise<unknown>> = []): Promise<void> {
    const others = [...savepoints]
    if (this.#open === 0 && others.length === 0) return
    const { key, lease } = this.#terms
    const limit = { ms: lease.remainingMs, what: 'a statement that was not awaited did not end' }
    try {
      await within(lease.env, limit, Promise.allSettled([this.idle(), ...others]))
    } catch (error) {
      throw lease.held ? notCommitted(key, error as Error) : notHeld(this.#terms, error)
    }
    if (!lease.held) throw notHeld(this.#terms)
  }

  get busy(): boolean {
    return this.#open > 0
  }

  /** How long the server has had nothing to do, now or before what it does now. */
  get pauseMs(): number {
    return this.#open > 0 ? this.#pauseMs : this.#terms.lease.env.now() - this.#quietSince
  }
}

/** Lost, or released by the function itself. */
export function notHeld({ key, lease }: Terms, cause?: unknown): LockError {
  const { loss } = lease
  const why = loss ? loss.message : `the lease on "${key}" was released inside its transaction`
  const code = loss ? 'LOCK_LOST' : 'LOCK_NOT_HELD'
  return new LockError(code, `${why}; the transaction is rolled back`, { key, cause })
}

export function cannotBegin(key: string, cause: unknown): LockError {
  if (cause instanceof LockError && cause.code !== 'STORE_UNAVAILABLE') return cause
  const message = `the transaction on "${key}" could not begin, nothing was done: ${describeError(cause)}`
  const reason = cause instanceof LockError ? (cause.cause ?? cause) : cause
  return new LockError('STORE_UNAVAILABLE', message, { key, cause: reason })
}

export function alreadyInside(key: string): LockError {
  return new LockError(
    'INVALID_OPTION',
    `transaction: the connection for "${key}" is inside a transaction already, which would be committed along; ` +
      'end it first, or give a pool',
    { key },
  )
}

/** COMMIT was not sent. */
export function notCommitted(key: string, cause: Error): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the transaction on "${key}" could not be committed, and is rolled back: ${cause.message}`,
    { key, cause },
  )
}

export function unknownOutcome(key: string, cause: unknown): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the outcome of the transaction on "${key}" is unknown: COMMIT was sent and no answer came ` +
      `(${describeError(cause)}); it may have been committed or not, so look at the data before you repeat it`,
    { key, cause, outcomeUnknown: true },
  )
}

/** `pause`: how long there had been no statement, and how long there may be none. */
export function connectionLost(
  { key }: Terms,
  cause: unknown,
  pause: { readonly ms: number; readonly limitMs: number },
): LockError {
  // The server's clock and ours start at different moments.
  const paused = isTooLongAPause(cause) || pause.ms >= pause.limitMs * 0.95
  const limit = `; a pause between two statements may take ${pause.limitMs} ms, about a third of the lease`
  return new LockError(
    'STORE_UNAVAILABLE',
    `the connection of the transaction on "${key}" was lost before COMMIT, so nothing is stored: ` +
      `${describeError(cause)}${paused ? limit : ''}`,
    { key, cause },
  )
}

/** A statement that failed makes PostgreSQL roll back at COMMIT, without an error. */
export function failedInside(key: string): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the transaction on "${key}" was rolled back at its COMMIT: a statement in it had failed, and its function did ` +
      'not pass the error on; use a savepoint for what may fail',
    { key },
  )
}
