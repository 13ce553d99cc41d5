import type { Measurement, Peer, Scenario } from '../figures.ts'
import { handoverFigures, tripFigures } from '../handover.ts'
import { HELD_LEASES } from '../held-leases.ts'
import { RACE } from '../one-key-tasks.ts'

const POOLS = [10, 4]
const NAMES = {
  plain: 'one statement per step',
  'verrou-knex': 'verrou (Knex)',
  'verrou-kysely': 'verrou (Kysely)',
}

export const POSTGRES: readonly Measurement[] = [
  {
    group: 'postgres',
    scenario: 'postgres-new-keys',
    title: 'PostgreSQL, 100 tasks, each key is new: `acquire` and `release`',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'pairs/s' }],
    peers: distinctKeys('postgres-new-keys'),
    timesBest: 10,
  },
  {
    group: 'postgres',
    scenario: 'postgres-known-keys',
    title: 'PostgreSQL, 100 tasks, 10,000 keys that come again: `acquire` and `release`',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'pairs/s' }],
    peers: distinctKeys('postgres-known-keys'),
    timesBest: 10,
    note: 'syncguard, which keeps locks in PostgreSQL too, could not be installed and is not among the peers',
  },
  {
    group: 'postgres',
    scenario: 'postgres-one-task',
    title: 'PostgreSQL, one task: `acquire` and `release`',
    rounds: 5,
    figures: [
      { name: 'pairMs', unit: 'ms' },
      { name: 'rawMs', unit: 'ms for two raw round trips' },
      { name: 'timesRaw', unit: '× two raw round trips', atMost: 1.15, ratio: true },
    ],
  },
  {
    group: 'postgres',
    scenario: 'postgres-several-keys',
    title: 'PostgreSQL, one task: ten keys at once against one',
    rounds: 3,
    figures: [
      { name: 'tenUs', unit: 'µs for ten' },
      { name: 'oneUs', unit: 'µs for one' },
      { name: 'timesOne', unit: '× one', atMost: 1.3, ratio: true },
      { name: 'farTenUs', unit: 'µs for ten, where each way takes 1 ms' },
      { name: 'farOneUs', unit: 'µs for one there' },
      { name: 'farTimesOne', unit: '× one there', atMost: 1.3, ratio: true },
    ],
  },
  {
    group: 'postgres',
    scenario: 'postgres-one-key',
    title: 'PostgreSQL, one key, 4 processes with 10 tasks each',
    rounds: 3,
    figures: RACE,
    peers: [10, 25].flatMap((pollMs) => [
      peer('postgres-one-key', 'plain', 10, pollMs),
      peer('postgres-one-key', 'verrou-knex', 10, pollMs),
      peer('postgres-one-key', 'verrou-kysely', 10, pollMs),
    ]),
    timesBest: 5,
  },
  {
    group: 'postgres',
    scenario: 'postgres-one-key-tasks',
    title: 'PostgreSQL, one key, 50 tasks of one process',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'sections/s' }],
    peers: [
      peer('postgres-one-key-tasks', 'plain', 10, 10),
      peer('postgres-one-key-tasks', 'verrou-knex', 10, 10),
      peer('postgres-one-key-tasks', 'verrou-kysely', 10, 10),
    ],
    timesBest: 50,
  },
  {
    group: 'postgres',
    scenario: 'postgres-handover',
    title: 'PostgreSQL, a key goes to and fro between two processes',
    rounds: 3,
    figures: [...handoverFigures('ms', 'durable write'), ...tripFigures('`select 1`')],
  },
  {
    group: 'postgres',
    scenario: 'postgres-held-leases',
    title: '10,000 held leases of 30 s, renewed every 10 s, PostgreSQL',
    rounds: 1,
    figures: HELD_LEASES,
  },
  {
    group: 'postgres',
    scenario: 'postgres-turns',
    title: 'PostgreSQL, 20 processes wait for one key, each has it for 25 ms',
    rounds: 1,
    figures: [
      { name: 'allMs', unit: 'ms for all turns', atMost: 550 },
      { name: 'betweenMs', unit: 'ms between two turns' },
      { name: 'floorMs', unit: 'ms for one NOTIFY and one statement, with as many listening' },
    ],
  },
  {
    group: 'postgres-plans',
    scenario: 'postgres-plans',
    title: 'PostgreSQL, what the server needs for a step, with 100,000 records',
    rounds: 1,
    figures: ['acquire', 'renew', 'release'].flatMap((step) =>
      [1, 100].map((keys) => ({
        name: `${step}${keys}`,
        unit: `ms to ${step} ${keys === 1 ? 'a key' : `${keys} keys`}`,
      })),
    ),
  },
  {
    group: 'postgres-growth',
    scenario: 'postgres-growth-known-keys',
    title: 'PostgreSQL, 1,000,000 locks on 10,000 keys that come again',
    rounds: 1,
    figures: [
      { name: 'perSecond', unit: 'pairs/s' },
      { name: 'tableMiB', unit: 'MiB of table' },
      { name: 'indexMiB', unit: 'MiB of index' },
      { name: 'hotPercent', unit: '% of updates were HOT' },
      { name: 'deadRows', unit: 'dead rows' },
      { name: 'vacuums', unit: 'runs of autovacuum' },
    ],
  },
  {
    group: 'postgres-growth',
    scenario: 'postgres-growth-new-keys',
    title: 'PostgreSQL, 1,000,000 locks on as many keys',
    rounds: 1,
    figures: [
      { name: 'perSecond', unit: 'pairs/s' },
      { name: 'tableMiB', unit: 'MiB of table while records are kept' },
      { name: 'indexMiB', unit: 'MiB of index while records are kept' },
      { name: 'hotPercent', unit: '% of updates were HOT' },
      { name: 'sweepMs', unit: 'ms to sweep them' },
      { name: 'longestSweepMs', unit: 'ms for the longest statement of it' },
      { name: 'sweptMiB', unit: 'MiB of table and index after the sweep and a vacuum' },
    ],
  },
]

function distinctKeys(scenario: Scenario): Peer[] {
  const rivals = POOLS.flatMap((pool) => [
    // The goal is ten times the best library, and ten times what one writes by hand.
    { ...peer(scenario, 'plain', pool), times: pool === POOLS[0] ? 10 : null },
    peer(scenario, 'verrou-knex', pool),
    peer(scenario, 'verrou-kysely', pool),
  ])
  const limit = { name: 'bare batches that decide nothing', scenario, contender: { kind: 'bare' as const } }
  return [...rivals, { ...limit, times: null }]
}

function peer(scenario: Scenario, kind: keyof typeof NAMES, pool: number, pollMs?: number): Peer {
  const polls = pollMs === undefined ? '' : `, asks every ${pollMs} ms`
  return {
    name: `${NAMES[kind]}, pool of ${pool}${polls}`,
    scenario,
    contender: { kind, pool, pollMs: pollMs ?? 10 },
  }
}
