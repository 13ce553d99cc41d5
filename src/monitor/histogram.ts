/** Upper bounds in milliseconds, about ×2 apart, from a hand-off in memory to a day. */
const BOUNDS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5,
  5e5, 1e6, 1e7, 1e8,
] as const

export interface HistogramSnapshot {
  readonly count: number
  readonly sumMs: number
  readonly maxMs: number
  /** Each is the upper bound of the bucket it falls in, at most `maxMs`; 0 while empty. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly buckets: readonly { readonly leMs: number; readonly count: number }[]
}

/** Durations in a fixed number of buckets: constant memory, whatever comes in. */
export class Histogram {
  readonly #counts = new Float64Array(BOUNDS.length + 1)
  #count = 0
  #sum = 0
  #max = 0

  record(ms: number): void {
    this.#counts[bucketOf(ms)]! += 1
    this.#count += 1
    this.#sum += ms
    if (ms > this.#max) this.#max = ms
  }

  snapshot(): HistogramSnapshot {
    const buckets = Array.from(this.#counts, (count, i) => ({ leMs: BOUNDS[i] ?? Infinity, count }))
    return {
      count: this.#count,
      sumMs: this.#sum,
      maxMs: this.#max,
      p50: this.#quantile(0.5),
      p95: this.#quantile(0.95),
      p99: this.#quantile(0.99),
      buckets: buckets.filter((bucket) => bucket.count > 0),
    }
  }

  #quantile(q: number): number {
    let left = q * this.#count
    for (const [i, count] of this.#counts.entries()) {
      left -= count
      if (count > 0 && left <= 0) return Math.min(BOUNDS[i] ?? Infinity, this.#max)
    }
    return 0
  }
}

function bucketOf(ms: number): number {
  let low = 0
  let high: number = BOUNDS.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms <= BOUNDS[middle]!) high = middle
    else low = middle + 1
  }
  return low
}
