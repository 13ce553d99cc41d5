import type { Measurement } from '../figures.ts'
import { handoverFigures, tripFigures } from '../handover.ts'
import { HELD_LEASES } from '../held-leases.ts'
import { RACE } from '../one-key-tasks.ts'
import { type Poller, polling, undisturbed } from '../pollers.ts'

export type MongoScenario =
  | 'mongo-new-keys'
  | 'mongo-known-keys'
  | 'mongo-one-task'
  | 'mongo-one-key'
  | 'mongo-processes'
  | 'mongo-turns'
  | 'mongo-handover'
  | 'mongo-held-leases'

const PEERS = {
  'mongo-locks': 'mongo-locks',
  'mongo-dlock': 'mongo-dlock',
}
const NAMES: Readonly<Record<'plain' | keyof typeof PEERS, string>> = {
  plain: 'insertOne and deleteOne',
  ...PEERS,
}

export type MongoContender = { readonly kind: 'holdfast' } | Poller<keyof typeof NAMES>

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
    peers: polling('mongo-one-key', PEERS, POLLS_MS),
    timesBest: 50,
  },
  {
    group: 'mongo',
    scenario: 'mongo-processes',
    title: 'MongoDB, one key, 4 processes with 10 tasks each',
    rounds: 3,
    figures: RACE,
    peers: polling('mongo-processes', PEERS, POLLS_MS),
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
    peers: polling('mongo-turns', PEERS, POLLS_MS),
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
    figures: [...handoverFigures('ms', 'confirmed write'), ...tripFigures('ping')],
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
    peers: undisturbed(scenario, NAMES).map((peer) =>
      peer.contender.kind === 'plain' ? { ...peer, times: 3 } : peer,
    ),
    peerFigures: PAIRS,
    timesBest: 1,
  }
}
