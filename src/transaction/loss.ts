import type { LockError } from '../errors.ts'
import { connectionLost, type Gate, type Terms } from './session.ts'

/** What is known of a connection that was lost before COMMIT, so that the server has rolled back. */
export class Loss {
  /** How long a pause may take, as the server was told. */
  pauseLimitMs: number
  readonly #terms: Terms
  readonly #gate: Gate
  #cause: unknown = null
  /** How long there had been no statement before that. */
  #pauseMs = 0
  /** What statements got because of it. */
  readonly #errors = new WeakSet<object>()

  constructor(terms: Terms, gate: Gate) {
    this.pauseLimitMs = terms.stepMs
    this.#terms = terms
    this.#gate = gate
  }

  /** The first news of it; null while the connection is there. */
  get cause(): unknown {
    return this.#cause
  }

  /** What is to be said to whoever goes on; null while the connection is there. */
  get refusal(): LockError | null {
    return this.#cause === null ? null : this.#tell(this.#cause)
  }

  found(cause: unknown): void {
    if (this.#cause !== null) return
    this.#cause = cause
    this.#pauseMs = this.#gate.pauseMs
  }

  add(error: Error): void {
    this.#errors.add(error)
  }

  /** The loss that `error` tells of, if it does. */
  in(error: unknown): LockError | null {
    const isIt = error instanceof Error && (error === this.#cause || this.#errors.has(error))
    return isIt ? this.#tell(error) : null
  }

  #tell(cause: unknown): LockError {
    return connectionLost(this.#terms, cause, { ms: this.#pauseMs, limitMs: this.pauseLimitMs })
  }
}
