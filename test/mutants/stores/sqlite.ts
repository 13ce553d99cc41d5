import { type Bug, mutant } from '../mutant.ts'

const STEPS = 'src/stores/sqlite/steps.ts'
const CONNECTION = 'src/stores/sqlite/connection.ts'

export const SQLITE_BUGS: readonly Bug[] = [
  mutant(
    'a release does not look at the owner',
    STEPS,
    'if (!row || row.owner !== owner) return { released: false, wanted: false }',
    'if (!row || owner === null) return { released: false, wanted: false }',
    'store release',
  ),
  mutant(
    'a release forgets the number of what it deletes',
    STEPS,
    'rows.reduce((highest, row) => Math.max(highest, row.grant), 0),',
    '0 * rows.length,',
    'store grants',
  ),
  mutant(
    'what ran out is renewed as long as nobody took it',
    STEPS,
    'if (!row || row.owner !== owner || row.expiresAt <= now) return { renewed: false }',
    'if (!row || row.owner !== owner) return { renewed: false }',
    'store expiry',
  ),
  mutant(
    'a prefix is taken for a pattern',
    STEPS,
    'and substr(key, 1, length(?)) = ?',
    'and key like ? || char(37) and ? is not null',
    'store list',
  ),
  mutant(
    'an eviction does not look at the grant number',
    STEPS,
    '(grant !== undefined && row.grant !== grant)',
    '(grant !== undefined && row.grant < 0)',
    'store (evict|repeats)',
  ),
  {
    bug: 'what is read and what is written are not one transaction',
    changes: [
      { file: CONNECTION, find: 'this.#db.exec(`begin ${mode}`)', replace: 'void mode' },
      { file: CONNECTION, find: "this.#db.exec('commit')", replace: '' },
    ],
    only: 'G1 G3 processes never overlap',
  },
  {
    ...mutant(
      'a release wakes those in other processes only',
      'src/stores/sqlite/store.ts',
      'this.#logWatch.announce(steps.freed)',
      '',
      'a release through the same store',
    ),
    tests: 'test/faults/sqlite-processes.test.ts',
  },
]
