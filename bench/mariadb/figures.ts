import type { Measurement } from '../figures.ts'
import { handoverFigures } from '../handover.ts'
import { HELD_LEASES } from '../held-leases.ts'
import { RACE } from '../one-key-tasks.ts'
import { type Poller, polling, undisturbed } from '../pollers.ts'

export type MariadbScenario =
  | 'mariadb-new-keys'
  | 'mariadb-known-keys'
  | 'mariadb-one-task'
  | 'mariadb-one-key'
  | 'mariadb-processes'
  | 'mariadb-handover'
  | 'mariadb-held-leases'

const NAMES = {
  plain: 'one plain statement per step',
  'verrou-knex': 'verrou (Knex)',
  'verrou-kysely': 'verrou (Kysely)',
}

export type MariadbContender = { readonly kind: 'holdfast' } | Poller<keyof typeof NAMES>

export const MARIADB: readonly Measurement[] = [
  {
    group: 'mariadb',
    scenario: 'mariadb-new-keys',
    title: 'MariaDB, 100 tasks, each key is new: `acquire` and `release`',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'pairs/s' }],
    peers: undisturbed('mariadb-new-keys', NAMES),
    timesBest: 3,
    note: 'the plain statements are INSERT IGNORE and DELETE, through a pool of 10: no lease, no token, no waiting',
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-known-keys',
    title: 'MariaDB, 100 tasks, 10,000 keys that come again: `acquire` and `release`',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'pairs/s' }],
    peers: undisturbed('mariadb-known-keys', NAMES),
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
    peers: polling('mariadb-one-key', NAMES, [10]),
    timesBest: 50,
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-processes',
    title: 'MariaDB, one key, 4 processes with 10 tasks each',
    rounds: 3,
    figures: RACE,
    peers: polling('mariadb-processes', NAMES, [10, 25]),
    timesBest: 5,
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-handover',
    title: 'MariaDB, a key goes to and fro between two processes',
    rounds: 3,
    figures: handoverFigures('ms', 'durable write'),
    note: 'MariaDB cannot tell anyone that a key is free: a process that waits asks again, less and less often',
  },
  {
    group: 'mariadb',
    scenario: 'mariadb-held-leases',
    title: '10,000 held leases of 30 s, renewed every 10 s, MariaDB',
    rounds: 1,
    figures: HELD_LEASES,
  },
]
