import { HELD_LEASES } from './held-leases.ts'
import { MARIADB, type MariadbContender, type MariadbScenario } from './mariadb/figures.ts'
import { MONGO, type MongoContender, type MongoScenario } from './mongo/figures.ts'
import { POSTGRES } from './postgres/figures.ts'
import { REDIS, type RedisContender, type RedisScenario } from './redis/figures.ts'
import { SQLITE, type SqliteContender, type SqliteScenario } from './sqlite/figures.ts'

export const GROUPS = [
  'memory',
  'watching',
  'sqlite',
  'leases',
  'heap',
  'postgres',
  'postgres-plans',
  'postgres-growth',
  'redis',
  'mongo',
  'mariadb',
] as const
export type Group = (typeof GROUPS)[number]

export type Scenario =
  | 'one-key'
  | 'one-key-async-mutex'
  | 'distinct-keys'
  | 'distinct-keys-async-mutex'
  | 'held-leases'
  | 'held-leases-sqlite'
  | 'waiting-for-one-key'
  | 'waiting-for-many-keys'
  | 'heap-of-held-leases'
  | 'million-keys'
  | 'lockable'
  | 'watching-distinct-keys'
  | 'watching-one-key'
  | 'postgres-new-keys'
  | 'postgres-known-keys'
  | 'postgres-one-task'
  | 'postgres-one-key'
  | 'postgres-one-key-tasks'
  | 'postgres-handover'
  | 'postgres-held-leases'
  | 'postgres-turns'
  | 'postgres-several-keys'
  | 'postgres-plans'
  | 'postgres-growth-known-keys'
  | 'postgres-growth-new-keys'

export type AnyScenario = Scenario | RedisScenario | MongoScenario | MariadbScenario | SqliteScenario

/** Who does the work of a scenario that several can do. */
export type Contender =
  | { readonly kind: 'holdfast' }
  /** See bare.ts. */
  | { readonly kind: 'bare' }
  | {
      readonly kind: 'plain' | 'verrou-knex' | 'verrou-kysely'
      /** Connections at most. */
      readonly pool: number
      /** How long it sleeps when the key is held, before it asks again. */
      readonly pollMs: number
    }

/**
 * One number that a scenario measures, under the name it has in the scenario's samples. Where those have
 * `cpuUs` too, the processor time for each, it is shown beside.
 */
export interface Figure {
  readonly name: string
  readonly unit: string
  readonly atLeast?: number
  readonly atMost?: number
  /** To what someone else does, or the driver alone. Such figures are shown first. */
  readonly ratio?: boolean
}

export interface Measurement {
  readonly group: Group
  readonly scenario: AnyScenario
  readonly title: string
  /** Each in a process of its own. */
  readonly rounds: number
  readonly figures: readonly Figure[]
  /** The same work done by others, to compare `perSecond` with. */
  readonly peers?: readonly Peer[]
  /** What is shown of them; `perSecond` if it is not said. */
  readonly peerFigures?: readonly Figure[]
  /** How many times the rate of the best of them it should be. */
  readonly timesBest?: number
  readonly note?: string
}

export interface Peer {
  readonly name: string
  readonly scenario: AnyScenario
  readonly contender?: Contender | RedisContender | MongoContender | MariadbContender | SqliteContender
  /** For one to be measured by rather than a rival: how many times its rate it should be; null if it is a limit. */
  readonly times?: number | null
}

const WATCHING: readonly Figure[] = [
  { name: 'offUs', unit: 'µs with counting taken out' },
  { name: 'counting', unit: '% more with counting', atMost: 3 },
  { name: 'listener', unit: '% more with a listener as well' },
  { name: 'channel', unit: '% more with a subscriber of a channel' },
  { name: 'tracer', unit: '% more with a tracer' },
]

export const MEASUREMENTS: readonly Measurement[] = [
  {
    group: 'memory',
    scenario: 'one-key',
    title: 'One key, 50 tasks: `using` on the memory store',
    rounds: 7,
    figures: [{ name: 'perSecond', unit: 'sections/s', atLeast: 200_000 }],
    peers: [{ scenario: 'one-key-async-mutex', name: 'async-mutex' }],
  },
  {
    group: 'memory',
    scenario: 'distinct-keys',
    title: 'Distinct keys, 100 tasks: `acquire` and `release` on the memory store',
    rounds: 7,
    figures: [{ name: 'perSecond', unit: 'pairs/s', atLeast: 200_000 }],
    peers: [{ scenario: 'distinct-keys-async-mutex', name: 'async-mutex' }],
  },
  {
    group: 'memory',
    scenario: 'lockable',
    title: '`lockable` and `@locked` over `using`, memory store',
    rounds: 3,
    figures: [
      { name: 'usingUs', unit: 'µs for using' },
      { name: 'keyFunctionUs', unit: 'µs more, key function', atMost: 2 },
      { name: 'templateUs', unit: 'µs more, template', atMost: 2 },
      { name: 'decoratorUs', unit: 'µs more, @locked((self) => …)', atMost: 2 },
      { name: 'fallbackUs', unit: 'µs more, with a fallback', atMost: 2 },
      { name: 'retryUs', unit: 'µs more, with retry', atMost: 2 },
    ],
  },
  {
    group: 'watching',
    scenario: 'watching-distinct-keys',
    title: 'What watching costs, 100 tasks on distinct keys, memory store',
    rounds: 7,
    figures: WATCHING,
  },
  {
    group: 'watching',
    scenario: 'watching-one-key',
    title: 'What watching costs, 50 tasks on one key, memory store',
    rounds: 7,
    figures: WATCHING,
  },
  ...SQLITE,
  {
    group: 'leases',
    scenario: 'held-leases',
    title: '10,000 held leases of 30 s, renewed every 10 s, memory store',
    rounds: 1,
    figures: HELD_LEASES,
  },
  {
    group: 'leases',
    scenario: 'held-leases-sqlite',
    title: '10,000 held leases of 30 s, renewed every 10 s, SQLite',
    rounds: 1,
    figures: HELD_LEASES,
  },
  {
    group: 'heap',
    scenario: 'waiting-for-one-key',
    title: '10,000 tasks that wait in `using` for one key',
    rounds: 3,
    figures: [{ name: 'bytes', unit: 'bytes of heap each', atMost: 2048 }],
  },
  {
    group: 'heap',
    scenario: 'waiting-for-many-keys',
    title: '10,000 tasks that wait in `using` for a key each, held elsewhere',
    rounds: 3,
    figures: [{ name: 'bytes', unit: 'bytes of heap each', atMost: 2048 }],
  },
  {
    group: 'heap',
    scenario: 'heap-of-held-leases',
    title: '10,000 held leases, with what the memory store keeps of them',
    rounds: 3,
    figures: [{ name: 'bytes', unit: 'bytes of heap each', atMost: 3072 }],
  },
  {
    group: 'heap',
    scenario: 'million-keys',
    title: '1,000,000 distinct keys one after the other, memory store',
    rounds: 3,
    figures: [
      // Below a tenth of a byte per key: what the engine does on its own account.
      { name: 'heapKiB', unit: 'KiB more heap', atMost: 100 },
      { name: 'timers', unit: 'more timers', atMost: 0 },
      { name: 'listeners', unit: 'more listeners', atMost: 0 },
      { name: 'perSecond', unit: 'pairs/s' },
    ],
  },
  ...POSTGRES,
  ...REDIS,
  ...MONGO,
  ...MARIADB,
]
