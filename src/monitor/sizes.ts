import { percentiles } from './percentiles.ts'

/** Up to each power of two, from 1 to 1024. */
const BUCKETS = 11

export interface SizesSnapshot {
  readonly count: number
  readonly sum: number
  readonly max: number
  /** Each is the upper bound of the bucket it falls in, at most `max`; 0 while empty. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
}

/** Sizes of batches, whole numbers from 1 on, in a fixed number of buckets. */
export class Sizes {
  readonly #counts = new Float64Array(BUCKETS)
  #sum = 0
  #max = 0

  record(size: number): void {
    this.#counts[Math.min(32 - Math.clz32(size - 1), BUCKETS - 1)]! += 1
    this.#sum += size
    if (size > this.#max) this.#max = size
  }

  snapshot(): SizesSnapshot {
    const max = this.#max
    const buckets: { le: number; count: number }[] = []
    let count = 0
    for (let i = 0; i < BUCKETS; i += 1) {
      const inBucket = this.#counts[i]!
      if (inBucket === 0) continue
      count += inBucket
      buckets.push({ le: 2 ** i, count: inBucket })
    }
    return { count, sum: this.#sum, max, ...percentiles(buckets, ({ le }) => le, max), buckets }
  }
}
