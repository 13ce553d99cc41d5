import type { Measurement, Peer } from '../figures.ts'
import { RACE } from '../one-key-tasks.ts'

export type RedisScenario =
  | 'redis-distinct-keys'
  | 'redis-one-task'
  | 'redis-one-key'
  | 'redis-processes'
  | 'redis-turns'
  | 'redis-handover'
  | 'redis-held-leases'
  | 'redis-memory'
  | 'redis-several-keys'
  | 'redis-election'

const NAMES = {
  raw: 'raw SET NX PX and a scripted delete',
  'redis-semaphore': 'redis-semaphore',
  redlock: '@sesamecare-oss/redlock',
  verrou: 'verrou',
  'redlock-universal': 'redlock-universal',
  redisson: 'node-redisson',
  'redisson-streams': 'node-redisson (streams)',
}

type Kind = keyof typeof NAMES

export type RedisContender =
  | { readonly kind: 'holdfast' }
  | {
      readonly kind: Kind
      /** How long it sleeps when the key is held, before it asks again. */
      readonly pollMs: number
    }

/** Those that poll do so as often as redis-semaphore does by default; the others are slower by default. */
const POLL_MS = 10
const POLLING: readonly Kind[] = ['redis-semaphore', 'redlock', 'verrou', 'redlock-universal']

const PAIRS = [
  { name: 'perSecond', unit: 'pairs/s' },
  { name: 'serverUs', unit: 'µs of processor time of the server' },
]

export const REDIS: readonly Measurement[] = [
  {
    group: 'redis',
    scenario: 'redis-distinct-keys',
    title: 'Redis, 100 tasks on distinct keys: `acquire` and `release`, with a fencing token',
    rounds: 3,
    figures: PAIRS,
    peers: [
      { ...peer('redis-distinct-keys', 'raw'), times: 1 },
      ...[...POLLING, 'redisson' as const].map((kind) => peer('redis-distinct-keys', kind)),
    ],
    peerFigures: PAIRS,
    timesBest: 1.3,
  },
  {
    group: 'redis',
    scenario: 'redis-one-task',
    title: 'Redis, one task: `acquire` and `release`',
    rounds: 5,
    figures: [
      { name: 'pairUs', unit: 'µs' },
      { name: 'rawUs', unit: 'µs for two raw round trips' },
      { name: 'timesRaw', unit: '× two raw round trips', atMost: 1.15, ratio: true },
    ],
  },
  {
    group: 'redis',
    scenario: 'redis-several-keys',
    title: 'Redis, one task: ten keys at once against one',
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
    group: 'redis',
    scenario: 'redis-one-key',
    title: 'Redis, one key, 50 tasks of one process',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'sections/s' }],
    peers: [...POLLING, 'redisson-streams' as const].map((kind) => peer('redis-one-key', kind)),
    timesBest: 50,
  },
  {
    group: 'redis',
    scenario: 'redis-processes',
    title: 'Redis, one key, 4 processes with 10 tasks each',
    rounds: 3,
    figures: RACE,
    peers: [...POLLING, 'redisson-streams' as const].map((kind) => peer('redis-processes', kind)),
    timesBest: 5,
    note:
      'Peers on Redis ask again every 10 ms, which is the default of redis-semaphore. node-redisson does not poll; where ' +
      'tasks of one process wait for the same key it uses streams, since with its default some miss their wake-up',
  },
  {
    group: 'redis',
    scenario: 'redis-turns',
    title: 'Redis, 20 processes wait for one key, each has it for 25 ms',
    rounds: 1,
    figures: [
      { name: 'allMs', unit: 'ms for all turns', atMost: 530 },
      { name: 'sent', unit: 'commands sent by clients', atMost: 100 },
      { name: 'sentFirst', unit: 'of them when it is the first time' },
      { name: 'calls', unit: 'calls with those inside scripts' },
      { name: 'holdMs', unit: 'ms that a turn really takes' },
      { name: 'betweenP50Ms', unit: 'ms between two turns, p50' },
      { name: 'betweenP99Ms', unit: 'ms between two turns, p99' },
    ],
    peers: [peer('redis-turns', 'redis-semaphore'), peer('redis-turns', 'redisson')],
    peerFigures: [
      { name: 'allMs', unit: 'ms for all turns' },
      { name: 'calls', unit: 'calls with those inside scripts' },
    ],
  },
  {
    group: 'redis',
    scenario: 'redis-handover',
    title: 'Redis, a key goes to and fro between two processes',
    rounds: 3,
    figures: [
      { name: 'p50Us', unit: 'µs from one to the other, p50' },
      { name: 'p99Us', unit: 'µs from one to the other, p99' },
      { name: 'tripUs', unit: 'µs for a raw round trip after a pause as long as a turn' },
      { name: 'p50Trips', unit: 'such round trips, p50', atMost: 3, ratio: true },
      { name: 'p99Trips', unit: 'such round trips, p99' },
      { name: 'busyTripUs', unit: 'µs for a raw round trip right after another' },
    ],
  },
  {
    group: 'redis',
    scenario: 'redis-election',
    title:
      'Redis, two processes lead in turn, on a network of 10 ms: from `resign()` of one to the term of the other',
    rounds: 1,
    figures: [
      { name: 'p50Ms', unit: 'ms from one to the other, p50' },
      { name: 'p99Ms', unit: 'ms from one to the other, p99' },
      { name: 'tripMs', unit: 'ms for a raw round trip' },
      { name: 'p50Trips', unit: 'such round trips, p50', atMost: 3, ratio: true },
    ],
  },
  {
    group: 'redis',
    scenario: 'redis-held-leases',
    title: '10,000 held leases of 30 s, renewed every 10 s, Redis',
    rounds: 1,
    figures: [
      { name: 'calls', unit: 'commands per 10 s', atMost: 20 },
      { name: 'corePercent', unit: '% of a core', atMost: 2 },
      { name: 'serverPercent', unit: '% of a core of the server', atMost: 2 },
      { name: 'callMs', unit: 'ms that a command keeps the server' },
      { name: 'longestMs', unit: 'ms for the longest' },
    ],
  },
  {
    group: 'redis',
    scenario: 'redis-memory',
    title: 'Redis, 10,000 held keys',
    rounds: 1,
    figures: [
      { name: 'bytes', unit: 'bytes on the server each' },
      { name: 'rawBytes', unit: 'bytes for a raw SET NX PX' },
    ],
  },
]

function peer(scenario: RedisScenario, kind: Kind): Peer {
  return { name: NAMES[kind], scenario, contender: { kind, pollMs: POLL_MS } }
}
