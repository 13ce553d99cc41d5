import type { Measurement } from '../figures.ts'
import { handoverFigures } from '../handover.ts'
import { RACE } from '../one-key-tasks.ts'
import { type Poller, polling, undisturbed } from '../pollers.ts'

export type SqliteScenario =
  | 'sqlite-distinct-keys'
  | 'sqlite-one-task'
  | 'sqlite-one-key'
  | 'sqlite-processes'
  | 'sqlite-handover'

const NAMES = {
  plain: 'plain statements',
  'verrou-kysely': 'verrou (Kysely)',
}

export type SqliteContender = { readonly kind: 'holdfast' } | Poller<keyof typeof NAMES>

export const SQLITE: readonly Measurement[] = [
  {
    group: 'sqlite',
    scenario: 'sqlite-distinct-keys',
    title: 'Distinct keys, 100 tasks: `acquire` and `release` on SQLite',
    rounds: 7,
    figures: [{ name: 'perSecond', unit: 'pairs/s', atLeast: 20_000 }],
    peers: undisturbed('sqlite-distinct-keys', NAMES).map((peer) =>
      peer.contender.kind === 'plain' ? { ...peer, times: 1 } : peer,
    ),
    timesBest: 1,
    note:
      'verrou on SQLite goes through Kysely to libsql; with Knex it needs a driver that has to be compiled, and is not ' +
      'among the peers',
  },
  {
    group: 'sqlite',
    scenario: 'sqlite-one-task',
    title: 'SQLite, one task: `acquire` and `release`',
    rounds: 5,
    figures: [
      { name: 'pairUs', unit: 'µs' },
      { name: 'rawUs', unit: 'µs for two raw transactions' },
      { name: 'timesRaw', unit: '× two raw transactions', atMost: 1.15, ratio: true },
    ],
  },
  {
    group: 'sqlite',
    scenario: 'sqlite-one-key',
    title: 'SQLite, one key, 50 tasks of one process',
    rounds: 3,
    figures: [{ name: 'perSecond', unit: 'sections/s' }],
    peers: polling('sqlite-one-key', NAMES, [10]),
    timesBest: 50,
    note:
      'statements of SQLite run in the thread that asks: on one key, the task that gives it back has it again before ' +
      'a timer can wake another, so nearly all sections of a peer are those of one task that nobody disturbs',
  },
  {
    group: 'sqlite',
    scenario: 'sqlite-processes',
    title: 'SQLite, one key, 4 processes with 10 tasks each',
    rounds: 3,
    figures: RACE,
    peers: polling('sqlite-processes', NAMES, [10, 25]),
    timesBest: 5,
  },
  {
    group: 'sqlite',
    scenario: 'sqlite-handover',
    title: 'SQLite, a key goes to and fro between two processes',
    rounds: 3,
    figures: handoverFigures('µs', 'transaction'),
  },
]
