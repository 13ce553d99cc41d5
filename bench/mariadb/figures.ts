import type { Measurement } from '../figures.ts'
import { HELD_LEASES } from '../held-leases.ts'

export type MariadbScenario =
  | 'mariadb-new-keys'
  | 'mariadb-known-keys'
  | 'mariadb-plain'
  | 'mariadb-one-task'
  | 'mariadb-one-key'
  | 'mariadb-one-key-plain'
  | 'mariadb-held-leases'

const PLAIN = {
  name: 'one plain statement per step',
  scenario: 'mariadb-plain',
} as const

export const MARIADB: readonly Measurement[] = [
  {
    group: 'mariadb',
    scenario: 'mariadb-new-keys',
    title: 'MariaDB, 100 tasks, each key is new: `acquire` and `release`',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'pairs/s' }],
    peers: [PLAIN],
    timesBest: 3,
    note: 'the plain statements are INSERT IGNORE and DELETE, through a pool of 10: no lease, no token, no waiting',
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-known-keys',
    title: 'MariaDB, 100 tasks, 10,000 keys that come again: `acquire` and `release`',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'pairs/s' }],
    peers: [PLAIN],
    timesBest: 3,
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-one-task',
    title: 'MariaDB, one task: `acquire` and `release`',
    rounds: 3,
    figures: [
      { name: 'pairMs', unit: 'ms' },
      { name: 'plainMs', unit: 'ms for INSERT IGNORE and DELETE' },
      { name: 'timesPlain', unit: '× INSERT IGNORE and DELETE', atMost: 1.15, ratio: true },
    ],
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-one-key',
    title: 'MariaDB, one key, 50 tasks of one process',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'sections/s' }],
    peers: [{ name: 'plain statements, asks every 10 ms', scenario: 'mariadb-one-key-plain' }],
    timesBest: 50,
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-held-leases',
    title: '10,000 held leases of 30 s, renewed every 10 s, MariaDB',
    rounds: 1,
    figures: HELD_LEASES,
  },
]
