import { describe, expect, it } from 'vitest'
import { isGone, isSpent, numberOf } from '../../src/databases/mysql-errors.ts'

interface Traits {
  readonly errno?: number
  readonly sqlState?: string | null
  readonly code?: string
  readonly fatal?: boolean
}

const errorWith = (traits: Traits): Error => Object.assign(new Error('what was said'), traits)

// As mysql2 and mariadb have them. Whoever goes by them must not disagree on what they are.
const cases: [string, unknown, { number: number; gone: boolean; spent: boolean }][] = [
  [
    'a row that stays locked',
    errorWith({ errno: 1205, sqlState: 'HY000', code: 'ER_LOCK_WAIT_TIMEOUT' }),
    { number: 1205, gone: false, spent: false },
  ],
  [
    'no connection left, said by mysql2 before the greeting',
    errorWith({ errno: 1040, sqlState: '', code: 'ER_CON_COUNT_ERROR' }),
    { number: 1040, gone: false, spent: false },
  ],
  [
    'KILL',
    errorWith({ errno: 1927, sqlState: '70100', code: 'ER_CONNECTION_KILLED' }),
    { number: 1927, gone: true, spent: true },
  ],
  [
    'a server that is read-only',
    errorWith({ errno: 1290, sqlState: 'HY000', code: 'ER_OPTION_PREVENTS_STATEMENT' }),
    { number: 1290, gone: false, spent: true },
  ],
  [
    'KILL QUERY, in mysql2',
    errorWith({ errno: 1317, sqlState: '70100', code: 'ER_QUERY_INTERRUPTED' }),
    { number: 1317, gone: false, spent: false },
  ],
  [
    'KILL QUERY, in mariadb, which goes on with the connection that it calls lost',
    errorWith({ errno: 1317, sqlState: '70100', code: 'ER_QUERY_INTERRUPTED', fatal: true }),
    { number: 1317, gone: false, spent: false },
  ],
  [
    'a limit of time, in mariadb, as well',
    errorWith({ errno: 1969, sqlState: '70100', code: 'ER_STATEMENT_TIMEOUT', fatal: true }),
    { number: 1969, gone: false, spent: false },
  ],
  [
    'a right that is missing, whose name begins like those of the driver',
    errorWith({ errno: 3631, sqlState: '42000', code: 'ER_CMD_NEED_SUPER' }),
    { number: 3631, gone: false, spent: false },
  ],
  [
    'a file that `load data local` was to read',
    errorWith({ errno: -2, code: 'ENOENT' }),
    { number: 0, gone: false, spent: true },
  ],
  [
    'a query that mysql2 has waited for as long as it was told to',
    errorWith({ code: 'PROTOCOL_SEQUENCE_TIMEOUT' }),
    { number: 0, gone: false, spent: true },
  ],
  [
    'a cut connection',
    errorWith({ errno: -104, code: 'ECONNRESET', fatal: true }),
    { number: 0, gone: true, spent: true },
  ],
  [
    'mysql2 that lost it',
    errorWith({ code: 'PROTOCOL_CONNECTION_LOST', fatal: true }),
    { number: 0, gone: true, spent: true },
  ],
  [
    'mariadb that lost it',
    errorWith({ errno: 45_009, sqlState: '08S01', code: 'ER_SOCKET_UNEXPECTED_CLOSE', fatal: true }),
    { number: 0, gone: true, spent: true },
  ],
  ['mysql2 that has lost it before', errorWith({ fatal: true }), { number: 0, gone: true, spent: true }],
  ['an error of nobody that is known', new Error('no answer'), { number: 0, gone: false, spent: true }],
  ['no error', 'thrown', { number: 0, gone: false, spent: true }],
]

describe.each(cases)('an error of MySQL: %s', (_, error, { number, gone, spent }) => {
  it('has the number that the server gave it, or none, and says whether the connection is of use', () => {
    expect({ number: numberOf(error), gone: isGone(error), spent: isSpent(error) }).toEqual({
      number,
      gone,
      spent,
    })
  })
})
