import type { Keys } from '../key.ts'
import type { Lease } from '../lease.ts'

/** What a tracer puts around a lock. It must call `run` once, at once, and pass on what it returns or throws. */
export interface Tracing {
  /** Around the wait for a key, from the call to the lease; `null` from `run` is a try that was denied. */
  acquiring<T>(keys: Keys, run: () => Promise<T>): Promise<T>
  /** Around the body of `using` and what is built on it, so that spans of the body stand inside. */
  holding<T>(lease: Lease, run: () => Promise<T>): Promise<T>
}
