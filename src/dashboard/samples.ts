import type { HistogramSnapshot } from '../monitor/histogram.ts'
import { percentiles } from '../monitor/percentiles.ts'

/** One look at a histogram. `null` as a bound is what JSON makes of the last one, which has none. */
export interface Times {
  readonly count: number
  readonly maxMs: number
  readonly buckets: readonly { readonly leMs: number | null; readonly count: number }[]
}

export interface Quantiles {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** What came in between two looks; null if nothing did. */
export function between(before: Times | null, after: Times): Quantiles | null {
  // Fewer than before: the server has started anew.
  const base = before && before.count <= after.count ? before : null
  const old = new Map(base?.buckets.map(({ leMs, count }) => [leMs, count]))
  const buckets = after.buckets.map(({ leMs, count }) => ({ leMs, count: count - (old.get(leMs) ?? 0) }))
  const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0)
  if (count <= 0) return null
  return { count, ...percentiles(buckets, ({ leMs }) => leMs ?? Infinity, after.maxMs) }
}

/** One look every two seconds. */
const KEPT = 180
/** Each point is about the last ten seconds: in two, little happens. */
const WINDOW = 5

export interface Point {
  readonly at: number
  readonly quantiles: Quantiles | null
}

/** The looks of the last six minutes, oldest first. */
export class Samples<T> {
  #looks: { readonly at: number; readonly value: T }[] = []

  push(at: number, value: T): void {
    this.#looks.push({ at, value })
    if (this.#looks.length > KEPT) this.#looks = this.#looks.slice(-KEPT)
  }

  /** How one histogram went over time. */
  points(pick: (value: T) => HistogramSnapshot): Point[] {
    return this.#looks.slice(1).map(({ at, value }, i) => {
      const before = this.#looks[Math.max(0, i + 1 - WINDOW)]!
      return { at, quantiles: between(pick(before.value), pick(value)) }
    })
  }
}
