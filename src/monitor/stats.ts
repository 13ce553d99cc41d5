import type { Pool } from '../store.ts'
import { BusyKeys, type BusyKey } from './busy-keys.ts'
import { type Conflict, Conflicts } from './conflicts.ts'
import { Histogram, type HistogramSnapshot } from './histogram.ts'
import { StepCounter, type StepName, type StepStats } from './steps.ts'

/** Counters since the client was made. All bounded: nothing grows with keys or time. */
export interface Counters {
  /** Calls of `acquire`, `tryAcquire` and `using` that passed validation. */
  requests: number
  granted: number
  /** Of those granted: passed on inside this process, without a store call. */
  handedOff: number
  /** Of those granted: entered again inside `using`. */
  reentered: number
  /** Of those granted: taken over from a holder whose lease had run out. */
  takenOver: number
  /** Gave up because the wait was over, or at once with a wait of 0. */
  timedOut: number
  /** Gave up because the caller's signal said so, or the client was closed. */
  aborted: number
  /** Ended by a fault: the store was unreachable, the lease around it was lost. */
  failed: number
  released: number
  lost: number
  /** Keys freed by `forceRelease` of this client. */
  evicted: number
  renewals: number
  renewalFailures: number
  /** Calls made to the store: how well batching works is `requests` against this. */
  storeCalls: number
  storeFailures: number
}

export interface LockStats extends Readonly<Counters> {
  /** Leases in hand now, nested ones not counted. */
  readonly held: number
  readonly waiting: number
  /** From the request to the lease, of all granted. */
  readonly wait: HistogramSnapshot
  /** From the lease to its release or loss. */
  readonly hold: HistogramSnapshot
  /** Of all calls of the store that were answered. */
  readonly storeLatency: HistogramSnapshot
  /** The steps that a lock is made of, each for itself. */
  readonly steps: { readonly acquire: StepStats; readonly renew: StepStats; readonly release: StepStats }
  /** The keys that were asked for most, at most 20, the busiest first. */
  readonly busiest: readonly BusyKey[]
  /** Which services this one has met as holders of keys it wanted, the most frequent first. */
  readonly conflicts: readonly Conflict[]
  /** Connections of the store's driver; null where it does not tell. */
  readonly pool: Pool | null
}

interface Now {
  readonly held: number
  readonly waiting: number
  readonly pool: Pool | null
}

export class Stats {
  readonly counters: Counters = {
    requests: 0,
    granted: 0,
    handedOff: 0,
    reentered: 0,
    takenOver: 0,
    timedOut: 0,
    aborted: 0,
    failed: 0,
    released: 0,
    lost: 0,
    evicted: 0,
    renewals: 0,
    renewalFailures: 0,
    storeCalls: 0,
    storeFailures: 0,
  }
  readonly wait: Histogram = new Histogram()
  readonly hold: Histogram = new Histogram()
  readonly busyKeys: BusyKeys = new BusyKeys()
  readonly conflicts: Conflicts
  readonly steps: Readonly<Record<StepName, StepCounter>> = {
    acquire: new StepCounter(),
    renew: new StepCounter(),
    release: new StepCounter(),
    list: new StepCounter(),
    evict: new StepCounter(),
  }

  /** Of a client that is this service. */
  constructor(service: string) {
    this.conflicts = new Conflicts(service)
  }

  snapshot(now: Now): LockStats {
    const { acquire, renew, release } = this.steps
    return {
      ...this.counters,
      ...now,
      wait: this.wait.snapshot(),
      hold: this.hold.snapshot(),
      storeLatency: Histogram.sum(Object.values(this.steps).map(({ latency }) => latency)).snapshot(),
      steps: { acquire: acquire.snapshot(), renew: renew.snapshot(), release: release.snapshot() },
      busiest: this.busyKeys.snapshot(),
      conflicts: this.conflicts.snapshot(),
    }
  }
}
