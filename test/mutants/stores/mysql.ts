import { type Bug, mutant } from '../mutant.ts'

const STEPS = 'src/stores/mysql/steps.ts'
const TWO_STEPS = 'test/faults/mysql-steps.test.ts'

export const MYSQL_BUGS: readonly Bug[] = [
  {
    ...mutant(
      'an ask is judged by the clock before it had to wait',
      'src/stores/mysql/expressions.ts',
      'then ${SINCE} else 0 end)`',
      'then 0 else 0 end)`',
      'G1 G11',
    ),
    tests: TWO_STEPS,
  },
  {
    ...mutant(
      'rows are locked in the order of the asks',
      STEPS,
      'rows.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))',
      'rows.slice()',
      'locks its rows in the order of their keys',
    ),
    tests: TWO_STEPS,
  },
  {
    ...mutant(
      'the victim of a deadlock is told so instead of trying again',
      'src/stores/mysql/failures.ts',
      'new Set([1205, 1213])',
      'new Set([1205])',
      '1213: ',
    ),
    tests: TWO_STEPS,
  },
  {
    ...mutant(
      'a step that was given up leaves its connection to the next one before it is undone',
      'src/stores/mysql/lending.ts',
      'if (this.#lender.pooled) this.#giveBack(loan, true)',
      'this.#giveBack(loan, true)',
      'G1',
    ),
    tests: 'test/faults/mysql-given-up.test.ts',
  },
  {
    ...mutant(
      'a statement is bounded by its items alone',
      'src/stores/mysql/parts.ts',
      ' || bytes + more > MOST_BYTES',
      '',
      'no step is larger than what the server takes',
    ),
    tests: 'test/faults/mysql-server.test.ts',
  },
  {
    ...mutant(
      'a forced release takes the key from whoever has it when it arrives',
      STEPS,
      'and grant_number = -values(grant_number) then',
      'then',
      'MySQL G5 that arrives once more|MySQL G5 leaves',
    ),
    tests: 'test/faults/forced-release.test.ts',
  },
  {
    ...mutant(
      'what became of a change is read as anything else, which a proxy may send to a replica',
      STEPS,
      '(${keys}) for update`',
      '(${keys})`',
      'G2 a lease that is lost',
    ),
    tests: TWO_STEPS,
  },
  mutant(
    'the same owner that asks again keeps the end of its first lease',
    STEPS,
    'when ${OURS} then greatest(expires_at, ${later})',
    'when ${OURS} then expires_at',
    'store acquire',
  ),
  mutant(
    'the release of what ran out counts',
    STEPS,
    'case when expires_at > decided_at then 0 else ${RAN_OUT} end',
    '0',
    'store expiry',
  ),
  mutant(
    'a grant does not clear that the key was wanted',
    STEPS,
    'wanted = case verdict when ${FREE} then 0 when',
    'wanted = case verdict when',
    'store wanted',
  ),
  mutant(
    'the length of a prefix is counted in characters',
    'src/stores/mysql/statements.ts',
    '${Buffer.byteLength(prefix)}',
    '${prefix.length}',
    'store (list|hostile input)',
  ),
  {
    bug: 'keys that differ in case are one',
    changes: [
      {
        file: 'src/stores/mysql/schema.ts',
        find: '`key\\` varbinary(512) not null primary key',
        replace: '`key\\` varchar(512) character set utf8mb4 collate utf8mb4_general_ci not null primary key',
      },
      { file: 'src/stores/mysql/schema.ts', find: `key: 'varbinary'`, replace: `key: 'varchar'` },
    ],
    only: 'store hostile input',
  },
]
