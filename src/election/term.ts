/**
 * One time of being the leader, from the election to the end of the body. It is in force while `signal` is
 * not aborted. As with a lease, no check in this process is enough on its own, since a pause may follow it:
 * send the token along and let the resource refuse older ones.
 */
export interface Term {
  /** Of the election, and of the key that the leader holds. */
  readonly name: string
  /** Rises with every term, whichever process leads. It stays the same until the term ends. */
  readonly number: number
  /** The fencing token; it rises in place with `rotateToken`. */
  readonly token: bigint
  /**
   * Aborts before another can be elected: when the lease is lost, on `resign()`, `stop()` and `close()`, and
   * when the term is over, for whatever still runs by then.
   */
  readonly signal: AbortSignal
  /** Throws what `signal` was aborted with, unless the term is in force at this moment. */
  assertLeader(): void
}

/** `returned` and `failed`: by itself. The others: it was told to end. */
export type TermEnd = 'returned' | 'failed' | 'resigned' | 'stopped' | 'lost' | 'closed'
