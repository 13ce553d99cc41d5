import type { Kind } from '../store-at.ts'

/** `memory-roomy`: in a process with more room for young objects than Node gives it. */
export type Subject = Kind | 'memory-roomy'

/** How the cost of one lock may grow with `n`. */
export type Growth = 'O(1)' | 'O(log n)' | 'O(n)'

export interface Point {
  readonly x: number
  /** For one lock: wall time, in µs. */
  readonly us: number
}

export interface Curve {
  readonly name: string
  readonly title: string
  /** What `x` counts. */
  readonly axis: string
  /** What is stated for each store that is measured. */
  readonly stores: Readonly<Partial<Record<Subject, { readonly growth: Growth }>>>
  readonly xs: readonly number[]
  /** What is measured, and why it grows as stated. */
  readonly text: readonly string[]
}

/** One store on one curve. */
export interface Series {
  readonly store: Subject
  readonly growth: Growth
  readonly points: readonly Point[]
  /** Of `cost ~ n^exponent`: the larger of that over the last points and that of the last step. */
  readonly exponent: number
  readonly agrees: boolean
  /** By hand, in scaling.json: how it was measured, if not with the others. Gone when it is measured anew. */
  readonly note?: string
}

/**
 * A cost that grows with `n` has an exponent of 1, one that does not grow 0, and `log n` about 0.1 where these curves
 * end. The rest is for the noise of a machine.
 */
const EXPONENTS: Record<Growth, number> = { 'O(1)': 0.2, 'O(log n)': 0.3, 'O(n)': 1.2 }
const LAST = 3

export function seriesOf(store: Subject, growth: Growth, points: readonly Point[]): Series {
  // Where batches still grow, a cost that falls first would hide one that rises at the end.
  const exponent = Math.max(exponentOf(points.slice(-LAST)), exponentOf(points.slice(-2)))
  return { store, growth, points, exponent, agrees: exponent <= EXPONENTS[growth] }
}

/** Least squares on logarithms. */
function exponentOf(points: readonly Point[]): number {
  const mean = (of: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean((point) => Math.log(point.x)), mean((point) => Math.log(point.us))]
  const across = mean((point) => (Math.log(point.x) - x) * (Math.log(point.us) - y))
  return across / mean((point) => (Math.log(point.x) - x) ** 2)
}

const DECADES = [1, 10, 100, 1_000, 10_000]
const ALL_CONSTANT = {
  memory: { growth: 'O(1)' },
  sqlite: { growth: 'O(1)' },
  postgres: { growth: 'O(1)' },
  redis: { growth: 'O(1)' },
  mongo: { growth: 'O(1)' },
  mariadb: { growth: 'O(1)' },
} as const
const { memory: _memory, ...SERVED } = ALL_CONSTANT
const IN_ONE_PROCESS = { ...ALL_CONSTANT, 'memory-roomy': { growth: 'O(1)' } } as const

export const CURVES: readonly Curve[] = [
  {
    name: 'tasks',
    title: 'Tasks side by side, each on a key of its own',
    axis: 'tasks',
    stores: IN_ONE_PROCESS,
    xs: DECADES,
    text: [
      'One process; each task takes a new key and gives it back. One task pays two round trips for each lock. Many tasks',
      'share them, so a lock gets cheaper with their number until a batch costs what its keys cost: from there on it',
      'stays as it is. What grows at the end is not work of ours: ten thousand tasks have more alive at once than the',
      '16 MiB that Node keeps for young objects, and each collection copies it. With more room, by',
      '`--max-semi-space-size=256`, what is left of it is memory that no cache of the processor holds.',
    ],
  },
  {
    name: 'waiters',
    title: 'Tasks that wait for one key',
    axis: 'tasks on the key',
    stores: IN_ONE_PROCESS,
    xs: DECADES,
    text: [
      'One process; all of them call `using` for the same key at once. The first pays two round trips; then the key goes',
      'from hand to hand. Neither joining the line nor being next costs more in a longer line. The end of the curve is',
      'that of the one above, for the same reason: with more room, which was tried for the memory store alone, it is gone.',
    ],
  },
  {
    name: 'processes',
    title: 'Processes side by side, each on keys of its own',
    axis: 'processes',
    stores: SERVED,
    xs: [1, 2, 4, 8, 16, 32],
    text: [
      'Ten tasks in each process. The cost is the time that passes for one lock of any process: it falls until the',
      'machine, which has the server on it as well, has no more cores. Each process goes on to send ten keys with each call,',
      'whatever the number of processes. O(1) is what is stated for processes that have cores of their own, and cannot be',
      'kept by many that share a few, as the last points do here: each finds the caches cold when it is its turn, and the',
      'time for a lock grows, though by less than the number of processes.',
    ],
  },
  {
    name: 'turns',
    title: 'Processes that want the same key',
    axis: 'processes on the key',
    stores: {
      sqlite: { growth: 'O(n)' },
      postgres: { growth: 'O(n)' },
      redis: { growth: 'O(n)' },
      mongo: { growth: 'O(n)' },
      mariadb: { growth: 'O(n)' },
    },
    xs: [1, 2, 4, 8, 16, 32],
    text: [
      'One task in each process, in again and again, so that the key changes the process each time. Where there is push,',
      'a release wakes the first process in the list of those that wait, which asks again and joins its end: the list is',
      'written with each turn. On SQLite and MariaDB each process looks by itself.',
    ],
  },
  {
    name: 'keys',
    title: 'Keys that the store knows',
    axis: 'keys known to the store',
    stores: {
      memory: { growth: 'O(1)' },
      sqlite: { growth: 'O(log n)' },
      postgres: { growth: 'O(log n)' },
      redis: { growth: 'O(1)' },
      mongo: { growth: 'O(log n)' },
      mariadb: { growth: 'O(log n)' },
    },
    xs: [1_000, 10_000, 100_000, 1_000_000],
    text: [
      '100 tasks of one process. PostgreSQL, MariaDB and MongoDB keep a record for each key; the tasks take such keys at',
      'random. The others keep records of held keys only, so that many are held, and the tasks take others. A record is',
      'found by the primary key: a tree, or a hash table in memory and on Redis. It begins at a thousand: with fewer,',
      'the hundred tasks would wait for each other.',
    ],
  },
]
