import { LockError } from '../../src/errors.ts'
import type { Lease } from '../../src/lease.ts'
import type { AttemptOptions } from './schedule.ts'
import type { SimulatedProcess } from './simulated-process.ts'

export type How = 'using' | 'acquire' | 'tryAcquire'

export interface AttemptStart {
  readonly name: string
  readonly process: SimulatedProcess
  readonly how: How
  readonly key: string
  readonly options: AttemptOptions
  /** The attempt in whose body this one is made. */
  readonly parent: Attempt | null
  readonly giveUpAfter?: number | undefined
}

/** One call of `using`, `acquire` or `tryAcquire`, and what became of it. Times are true times. */
export class Attempt {
  readonly name: string
  readonly process: SimulatedProcess
  readonly how: How
  readonly key: string
  readonly options: AttemptOptions
  readonly parent: Attempt | null
  readonly giveUpAfter: number | undefined
  /** The nearest attempt around it that holds the same key: then this one re-enters. */
  readonly outer: Attempt | null
  /** Whether invariants read `held` past the deadline; if not, only a timer can tell the holder. */
  isRead = true
  askedAt = 0
  /** What its process had lost inside its own code by then. */
  stalledMs = 0
  enteredAt: number | undefined
  lease: Lease | undefined
  /** Taken when the lease came: nobody needs the lease to see it aborted. */
  signal: AbortSignal | undefined
  toldAt: number | undefined
  leftAt: number | undefined
  /** What `release()` said, where user code called it: `true`, `false` or the code of its error. */
  released = ''
  /** What a second `release()` said. */
  releasedAgain = ''
  settledAt: number | undefined
  /** `ok`, `null`, `user error`, an error code, or anything else, which is a failure. */
  outcome = ''
  error: unknown
  /** What the body itself threw. */
  userError: Error | undefined

  constructor(start: AttemptStart) {
    this.name = start.name
    this.process = start.process
    this.how = start.how
    this.key = start.key
    this.options = start.options
    this.parent = start.parent
    this.giveUpAfter = start.giveUpAfter
    this.outer = enclosing(start)
  }

  get leaseMs(): number {
    return this.options.lease ?? DEFAULT_LEASE_MS
  }

  get waitMs(): number {
    if (this.how === 'tryAcquire') return 0
    const { wait = DEFAULT_WAIT_MS } = this.options
    return wait === 'forever' ? Infinity : wait
  }

  /** Has a lease that it did not give back. It may be lost all the same. */
  get inside(): boolean {
    return this.lease !== undefined && this.leftAt === undefined
  }

  /** The attempt whose lease it shares: itself, unless it re-enters. */
  get root(): Attempt {
    return this.reenters && this.outer ? this.outer.root : this
  }

  /** Whether it re-enters a hold of its own context instead of asking for one. */
  get reenters(): boolean {
    return this.outer !== null && this.options.reentrant !== false
  }
}

export const DEFAULT_LEASE_MS = 2000
export const DEFAULT_WAIT_MS = 5000

function enclosing({ parent, key }: AttemptStart): Attempt | null {
  for (let outer = parent; outer; outer = outer.parent) {
    // Only `using` has a body, and so a context to come back to.
    if (outer.key === key && outer.how === 'using') return outer
  }
  return null
}

export function outcomeOf(error: unknown, userError: Error | undefined): string {
  if (error === userError && userError) return 'user error'
  return error instanceof LockError ? error.code : `threw ${String(error)}`
}
