import { mib } from './report.ts'
import type { Outcome } from './run.ts'

/** How memory grows: least squares over the second half, when caches are filled and code is compiled. */
export function slope(samples: readonly Outcome[]): string {
  const late = samples.slice(Math.floor(samples.length / 2))
  if (late.length < 3) return 'memory       too few samples for a slope'
  const perHour = (of: (sample: Outcome) => number): number =>
    3600 * leastSquares(late.map((sample) => [sample.seconds, of(sample)]))
  const [heap, rss] = [perHour(({ memory }) => memory.heapBytes), perHour(({ memory }) => memory.rssBytes)]
  const first = samples[0] as Outcome
  const last = samples.at(-1) as Outcome
  return (
    `memory       heap ${mib(first.memory.heapBytes)} at first, ${mib(last.memory.heapBytes)} at last; ` +
    `in the second half ${mib(heap)} per hour, resident ${mib(rss)} per hour`
  )
}

function leastSquares(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (i: 0 | 1): number => points.reduce((sum, point) => sum + point[i], 0) / points.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return below === 0 ? 0 : above / below
}
