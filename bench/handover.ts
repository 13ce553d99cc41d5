import { setTimeout } from 'node:timers/promises'
import type { Figure } from './figures.ts'
import { percentile } from './percentile.ts'
import type { Samples } from './throughput.ts'

const WARM_UP = 10

/** What is shown of it where a key is given back, and taken, by a write. `write` says of which kind. */
export function handoverFigures(unit: 'ms' | 'µs', write: string): Figure[] {
  return [
    { name: 'p50', unit: `${unit} from one to the other, p50` },
    { name: 'p99', unit: `${unit} from one to the other, p99` },
    { name: 'write', unit: `${unit} for one ${write} after a pause as long as a turn` },
    { name: 'p50Writes', unit: `${write}s, p50`, atMost: 3, ratio: true },
    { name: 'p99Writes', unit: `${write}s, p99` },
  ]
}

/** The same in round trips that write nothing: what the goal counts where no grant has to be on a disk. */
export function tripFigures(trip: string): Figure[] {
  return [
    { name: 'tripMs', unit: `ms for a ${trip} after such a pause` },
    { name: 'p50Trips', unit: 'round trips that write nothing, p50' },
  ]
}

/** Both in the same unit. */
export function inWrites(passed: readonly number[], write: number): Samples {
  const [p50, p99] = [percentile(passed, 50), percentile(passed, 99)]
  return {
    p50: [p50],
    p99: [p99],
    write: [write],
    p50Writes: [p50 / write],
    p99Writes: [p99 / write],
  }
}

export function inTrips(passed: readonly number[], tripMs: number): Samples {
  return { tripMs: [tripMs], p50Trips: [percentile(passed, 50) / tripMs] }
}

interface Pauses {
  readonly pauseMs: number
  readonly count: number
}

/** In ms, the median. Whoever hands a key over had nothing to do before, so each comes after a pause. */
export async function afterPauses(trip: (i: number) => unknown, { pauseMs, count }: Pauses): Promise<number> {
  const times: number[] = []
  for (let i = -WARM_UP; i < count; i += 1) {
    await setTimeout(pauseMs)
    const start = performance.now()
    await trip(i)
    if (i >= 0) times.push(performance.now() - start)
  }
  return percentile(times, 50)
}
