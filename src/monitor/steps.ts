import type { Store } from '../store.ts'
import { Histogram, type HistogramSnapshot } from './histogram.ts'
import { Sizes, type SizesSnapshot } from './sizes.ts'

/** What a store is asked to do. */
export type StepName = 'acquire' | 'renew' | 'release' | 'list' | 'evict'

/** A call of the store: what it asks for, of how many keys, and how. */
export interface StoreCall<T> {
  readonly name: StepName
  readonly keys: number
  readonly step: (store: Store) => Promise<T>
}

/** Calls of one step of the store. */
export interface StepStats {
  readonly calls: number
  /** In all calls together: how well batching works is this against `calls`. */
  readonly keys: number
  /** Calls that failed as a whole or ran past their limit. */
  readonly failures: number
  /** Keys of each call. */
  readonly sizes: SizesSnapshot
  /** Of the calls that were answered. */
  readonly latency: HistogramSnapshot
}

export class StepCounter {
  readonly latency: Histogram = new Histogram()
  readonly #sizes = new Sizes()
  #failures = 0

  answered(keys: number, tookMs: number): void {
    this.#sizes.record(keys)
    this.latency.record(tookMs)
  }

  failed(keys: number): void {
    this.#sizes.record(keys)
    this.#failures += 1
  }

  snapshot(): StepStats {
    const sizes = this.#sizes.snapshot()
    return {
      calls: sizes.count,
      keys: sizes.sum,
      failures: this.#failures,
      sizes,
      latency: this.latency.snapshot(),
    }
  }
}
