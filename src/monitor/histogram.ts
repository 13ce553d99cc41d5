import { percentiles } from './percentiles.ts'

/** Upper bounds in milliseconds, about ×2 apart, from a hand-off in memory to a day. */
export const BOUNDS: readonly number[] = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5,
  5e5, 1e6, 1e7, 1e8,
]

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

const SUM = BOUNDS.length + 1
const MAX = SUM + 1

/** Durations in a fixed number of buckets: constant memory, whatever comes in. */
export class Histogram {
  /** A count for each bucket, then the sum and the greatest: numbers in such an array are never boxed. */
  readonly #numbers = new Float64Array(MAX + 1)

  record(ms: number): void {
    const numbers = this.#numbers
    numbers[bucketOf(ms)]! += 1
    numbers[SUM]! += ms
    if (ms > numbers[MAX]!) numbers[MAX] = ms
  }

  /** What all of these have recorded, as if it had been one. */
  static sum(all: readonly Histogram[]): Histogram {
    const sum = new Histogram()
    for (const each of all) {
      for (let i = 0; i <= SUM; i += 1) sum.#numbers[i]! += each.#numbers[i]!
      sum.#numbers[MAX] = Math.max(sum.#numbers[MAX]!, each.#numbers[MAX]!)
    }
    return sum
  }

  snapshot(): HistogramSnapshot {
    const maxMs = this.#numbers[MAX]!
    const buckets: { leMs: number; count: number }[] = []
    let count = 0
    for (let i = 0; i < SUM; i += 1) {
      const inBucket = this.#numbers[i]!
      if (inBucket === 0) continue
      count += inBucket
      buckets.push({ leMs: BOUNDS[i] ?? Infinity, count: inBucket })
    }
    return {
      count,
      sumMs: this.#numbers[SUM]!,
      maxMs,
      ...percentiles(buckets, ({ leMs }) => leMs, maxMs),
      buckets,
    }
  }
}

/** For each number of leading zeros of a duration in hundredths of a millisecond, where to begin to look. */
const STARTS = Uint8Array.from({ length: 33 }, (_, zeros) => {
  const least = zeros === 32 ? 0 : 2 ** (31 - zeros) / 100
  return BOUNDS.findIndex((bound) => least <= bound)
})

function bucketOf(ms: number): number {
  let i = ms < 2e7 ? STARTS[Math.clz32(ms * 100)]! : 0
  while (i < BOUNDS.length && ms > BOUNDS[i]!) i += 1
  return i
}
