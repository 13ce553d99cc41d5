import type { Measurement } from '../figures.ts'

export type MariadbScenario = 'mariadb-new-keys' | 'mariadb-known-keys' | 'mariadb-plain' | 'mariadb-one-task'

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
      { name: 'timesPlain', unit: '× INSERT IGNORE and DELETE', atMost: 1.15 },
    ],
  },
]
