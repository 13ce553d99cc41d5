import { KEEP_MINUTES, type Sample } from './sample.ts'

/** What one number did over the run. */
export interface Course {
  readonly name: string
  readonly unit: string
  /** Where the part that counts begins and ends, each the mean of a few samples. */
  readonly from: number
  readonly to: number
  readonly perHour: number
  readonly bound: number
  readonly ok: boolean
}

/** At the start, tables fill, code is compiled and records gather. */
const COUNTED = 2 / 3
/** Less than anything that could be kept for a lock. */
const HEAP_BYTES_PER_LOCK = 10
/** Pages that an allocator does not give back come on top. */
const RSS_BYTES_PER_LOCK = 100
/** A record with its place in an index takes more than this, whatever the store. */
const RECORD_BYTES = 150
/** Of the new keys: if their records did not go, it would be all of them. */
const RECORDS_LEFT = 0.02
/** Pages are filled more or less densely from one clean-up to the next. */
const STORAGE_LEFT = 0.2

/** Storage, and the heap of what is held, follow the rate: if that moves, a slope says nothing either way. */
const STEADY = 1.5
const PARTS = 6

/** Whether the load kept its rate, as it does not on a machine that has no time for it. */
export function isSteady(samples: readonly Sample[]): boolean {
  const counted = countedOf(samples)
  const size = Math.floor(counted.length / PARTS)
  const rates = Array.from({ length: PARTS }, (_, part) =>
    slope(counted.slice(part * size, (part + 1) * size), ({ done }) => done.locks),
  )
  return Math.max(...rates) <= STEADY * Math.min(...rates)
}

/** Bounds follow from the load: what is kept for each lock, or each new key, would show as that many times their rate. */
export function coursesOf(samples: readonly Sample[]): Course[] {
  const counted = countedOf(samples)
  const perHour = (of: (sample: Sample) => number): number => slope(counted, of)
  const locks = perHour(({ done }) => done.locks)
  const keys = perHour(({ done }) => done.newKeys)
  const course = (name: string, unit: string, of: (sample: Sample) => number, bound: number): Course => {
    const rise = perHour(of)
    return {
      name,
      unit,
      from: mean(counted.slice(0, 5).map(of)),
      to: mean(counted.slice(-5).map(of)),
      perHour: rise,
      bound,
      ok: rise <= bound,
    }
  }
  return [
    course('heap', 'KiB', ({ heapKiB }) => heapKiB, (locks * HEAP_BYTES_PER_LOCK) / 1024),
    course('rss', 'MiB', ({ rssMiB }) => rssMiB, (locks * RSS_BYTES_PER_LOCK) / 2 ** 20),
    course('handles', '', ({ handles }) => sum(Object.values(handles)), 1),
    course('open files', '', ({ openFiles }) => openFiles, 1),
    course('connections', '', ({ connections }) => connections, 1),
    course('further records', '', (sample) => sample.records - keptOf(samples, sample), keys * RECORDS_LEFT),
    course('storage', 'KiB', ({ storageKiB }) => storageKiB, (keys * STORAGE_LEFT * RECORD_BYTES) / 1024),
  ]
}

/**
 * The records that are to be there: those of the keys that were new in the last minutes. They follow the rate, and what
 * is there besides must not grow.
 */
function keptOf(samples: readonly Sample[], { hours, done }: Sample): number {
  const before = samples.findLast((sample) => sample.hours <= hours - KEEP_MINUTES / 60)
  return done.newKeys - (before?.done.newKeys ?? 0)
}

function countedOf(samples: readonly Sample[]): readonly Sample[] {
  return samples.slice(Math.floor(samples.length * (1 - COUNTED)))
}

/** Least squares, by hour. */
function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const x = mean(samples.map(({ hours }) => hours))
  const y = mean(samples.map(of))
  const across = sum(samples.map((sample) => (sample.hours - x) * (of(sample) - y)))
  const along = sum(samples.map(({ hours }) => (hours - x) ** 2))
  return along === 0 ? 0 : across / along
}

function mean(values: readonly number[]): number {
  return sum(values) / Math.max(1, values.length)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0)
}
