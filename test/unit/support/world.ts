import { createLocks, type Locks } from '../../../src/locks.ts'
import type { LocksOptions } from '../../../src/options.ts'
import { TrialStore } from './trial-store.ts'
import { VirtualTime } from './virtual-time.ts'

export interface World {
  readonly time: VirtualTime
  readonly store: TrialStore
  readonly locks: Locks
  /** Another client on the same server, as if from another process. */
  other(options?: LocksOptions): Locks
}

export function world(options: LocksOptions & { push?: boolean } = {}): World {
  const { push = true, ...rest } = options
  const time = new VirtualTime()
  const store = new TrialStore(time, { push })
  const client = (service: string, more: LocksOptions, target: TrialStore): Locks =>
    createLocks(target, { service, instance: service, logger: null, environment: time, ...more })
  return {
    time,
    store,
    locks: client('one', rest, store),
    other: (more = {}) => client('two', more, new TrialStore(time, { push, inner: store.inner })),
  }
}

/** Whether and how a promise has settled, without waiting for it. */
export function track<T>(promise: Promise<T>): { value?: T; error?: unknown; settled: boolean } {
  const outcome: { value?: T; error?: unknown; settled: boolean } = { settled: false }
  promise.then(
    (value) => Object.assign(outcome, { value, settled: true }),
    (error: unknown) => Object.assign(outcome, { error, settled: true }),
  )
  return outcome
}

export function gate(): { promise: Promise<void>; open: () => void } {
  let open!: () => void
  const promise = new Promise<void>((resolve) => (open = resolve))
  return { promise, open }
}
