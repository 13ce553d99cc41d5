import type { Measurement, Peer } from '../figures.ts'
import { HELD_LEASES } from '../held-leases.ts'

export type MongoScenario =
  | 'mongo-new-keys'
  | 'mongo-known-keys'
  | 'mongo-one-task'
  | 'mongo-one-key'
  | 'mongo-processes'
  | 'mongo-turns'
  | 'mongo-handover'
  | 'mongo-held-leases'

const NAMES = {
  plain: 'insertOne and deleteOne',
  'mongo-locks': 'mongo-locks',
  'mongo-dlock': 'mongo-dlock',
}

type Kind = keyof typeof NAMES

export type MongoContender =
  | { readonly kind: 'holdfast' }
  | {
      readonly kind: Kind
      /** How long it sleeps when the key is held, before it asks again. */
      readonly pollMs: number
    }

/** Often means soon, but also that the server has more to do. */
const POLLS_MS = [10, 25]

const PAIRS = [
  { name: 'perSecond', unit: 'pairs/s' },
  { name: 'commands', unit: 'commands for 1,000 locks' },
]

export const MONGO: readonly Measurement[] = [
  {
    group: 'mongo',
    scenario: 'mongo-new-keys',
    title: 'MongoDB, 100 tasks, each key is new: `acquire` and `release`',
    ...distinctKeys('mongo-new-keys'),
  },
  {
    group: 'mongo',
    scenario: 'mongo-known-keys',
    title: 'MongoDB, 100 tasks, 2,000 keys that come again: `acquire` and `release`',
    ...distinctKeys('mongo-known-keys'),
    note:
      'mongo-locks cannot wait for a key: here it is asked again and again. No peer on MongoDB has a fencing token, ' +
      'push, or the time of the server',
  },
  {
    group: 'mongo',
    scenario: 'mongo-one-task',
    title: 'MongoDB, one task: `acquire` and `release`',
    rounds: 5,
    figures: [
      { name: 'pairMs', unit: 'ms' },
      { name: 'rawMs', unit: 'ms for insertOne and deleteOne' },
      { name: 'timesRaw', unit: '× insertOne and deleteOne', atMost: 1.15, ratio: true },
      { name: 'commands', unit: 'commands for 1,000 locks', atMost: 2000 },
      { name: 'findAndModifys', unit: 'of them findAndModify' },
    ],
  },
  {
    group: 'mongo',
    scenario: 'mongo-one-key',
    title: 'MongoDB, one key, 50 tasks of one process',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'sections/s' }],
    peers: polling('mongo-one-key'),
    timesBest: 50,
  },
  {
    group: 'mongo',
    scenario: 'mongo-processes',
    title: 'MongoDB, one key, 4 processes with 10 tasks each',
    rounds: 3,
    figures: [
      { name: 'perSecond', unit: 'sections/s' },
      { name: 'leastShare', unit: '% of them in the process that had fewest' },
    ],
    peers: polling('mongo-processes'),
    timesBest: 5,
  },
  {
    group: 'mongo',
    scenario: 'mongo-turns',
    title: 'MongoDB, 20 processes wait for one key, each has it for 25 ms',
    rounds: 1,
    figures: [
      { name: 'allMs', unit: 'ms for all turns' },
      { name: 'commands', unit: 'commands for all turns' },
      { name: 'getMores', unit: 'of them getMore, of the change streams' },
      { name: 'holdMs', unit: 'ms that a turn really takes' },
      { name: 'betweenP50Ms', unit: 'ms between two turns, p50' },
      { name: 'betweenP99Ms', unit: 'ms between two turns, p99' },
    ],
    peers: polling('mongo-turns'),
    peerFigures: [
      { name: 'allMs', unit: 'ms for all turns' },
      { name: 'commands', unit: 'commands for all turns' },
    ],
  },
  {
    group: 'mongo',
    scenario: 'mongo-handover',
    title: 'MongoDB, a key goes to and fro between two processes',
    rounds: 3,
    figures: [
      { name: 'p50Ms', unit: 'ms from one to the other, p50' },
      { name: 'p99Ms', unit: 'ms from one to the other, p99' },
      { name: 'writeMs', unit: 'ms for one confirmed write after a pause as long as a turn' },
      { name: 'p50Writes', unit: 'such writes, p50', atMost: 3, ratio: true },
      { name: 'p99Writes', unit: 'such writes, p99' },
      { name: 'pingMs', unit: 'ms for a ping after such a pause' },
    ],
  },
  {
    group: 'mongo',
    scenario: 'mongo-held-leases',
    title: '10,000 held leases of 30 s, renewed every 10 s, MongoDB',
    rounds: 1,
    figures: HELD_LEASES,
  },
]

function distinctKeys(scenario: MongoScenario): Omit<Measurement, 'group' | 'scenario' | 'title'> {
  return {
    rounds: 3,
    figures: [
      ...PAIRS,
      { name: 'updates', unit: 'of them update' },
      { name: 'findAndModifys', unit: 'of them findAndModify' },
      { name: 'finds', unit: 'of them find' },
    ],
    peers: [
      { ...peer(scenario, 'plain', 10), times: 3 },
      peer(scenario, 'mongo-locks', 10),
      peer(scenario, 'mongo-dlock', 10),
    ],
    peerFigures: PAIRS,
    timesBest: 1,
  }
}

function polling(scenario: MongoScenario): Peer[] {
  return POLLS_MS.flatMap((pollMs) =>
    (['mongo-locks', 'mongo-dlock'] as const).map((kind) => ({
      ...peer(scenario, kind, pollMs),
      name: `${NAMES[kind]}, asks every ${pollMs} ms`,
    })),
  )
}

function peer(scenario: MongoScenario, kind: Kind, pollMs: number): Peer {
  return { name: NAMES[kind], scenario, contender: { kind, pollMs } }
}
