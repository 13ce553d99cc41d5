import { type Bug, mutant } from '../mutant.ts'

const ORDER = 'src/transaction/order.ts'
const POSTGRES = 'test/faults/transaction-postgres.test.ts'
const UNDONE = 'test/faults/transaction-undone.test.ts'
const ONE_BY_ONE = 'test/faults/transaction-one-by-one.test.ts'
const INTERRUPTED = 'test/faults/transaction-interrupted.test.ts'
const MYSQL_UNLOST = 'test/faults/mysql-unlost.test.ts'
const OUTAGES = 'test/faults/transaction-outages.test.ts'
const POSTGRES_JS = 'test/faults/transaction-postgres-js.test.ts'

export const TRANSACTION_BUGS: readonly Bug[] = [
  {
    ...mutant(
      'a client that is being closed undoes nothing when a lease runs out',
      ORDER,
      'timer = env.setTimer(lease.remainingMs, look, false)',
      '',
      'while its client is being closed',
    ),
    tests: UNDONE,
  },
  {
    ...mutant(
      'COMMIT is sent without a look at the lease',
      ORDER,
      'if (!lease.held) throw notHeld(terms)\n    await session.commit()',
      'await session.commit()',
      'is rolled back if the lease is lost',
    ),
    tests: POSTGRES,
  },
  {
    ...mutant(
      'a COMMIT whose answer was lost is told as a success',
      'src/transaction/pg.ts',
      'throw refused ? error : unknownOutcome(key, error)',
      'if (refused) throw error\n      return',
      'a lost reply to COMMIT',
    ),
    tests: OUTAGES,
  },
  {
    ...mutant(
      'a query that the client itself refuses is taken for a lost connection',
      'src/transaction/postgres.ts',
      'CUT_OFF.test(code)',
      '/^(CONNECTION_|E[A-Z]+$|ERR_)/.test(code)',
      'rolled back before the key is free',
    ),
    tests: 'test/faults/transaction-refused.test.ts',
  },
  {
    ...mutant(
      'COMMIT is sent to a session that has said farewell',
      'src/transaction/pg.ts',
      '// The event comes later, and COMMIT must not be sent in between.\n            this.#loss.found(error)',
      '',
      'and the function hides it',
    ),
    tests: OUTAGES,
  },
  {
    ...mutant(
      'a query of mysql2 that itself cannot read a file is taken for a lost connection',
      'src/databases/mysql-errors.ts',
      'return error instanceof Error && (error as { fatal?: unknown }).fatal === true',
      'return error instanceof Error && /^(PROTOCOL_|E[A-Z]+$)/.test(String((error as { code?: unknown }).code))',
      'cannot read what it loads',
    ),
    tests: MYSQL_UNLOST,
  },
  {
    ...mutant(
      'what the server says with a number is fatal if mariadb calls it so',
      'src/databases/mysql-errors.ts',
      'if (number !== 0) return FAREWELLS.has(number)',
      'if (FAREWELLS.has(number)) return true',
      'mariadb calls the end of a statement fatal',
    ),
    tests: MYSQL_UNLOST,
  },
  {
    ...mutant(
      'a transaction goes on after a statement whose answer nobody will hear',
      'src/transaction/mysql-server.ts',
      ' || isUnheard(error)',
      '',
      'no longer hears that all was rolled back',
    ),
    tests: MYSQL_UNLOST,
  },
  {
    ...mutant(
      'a pause is told with the limit of MySQL before it was cut to whole seconds',
      'src/transaction/mysql.ts',
      'this.#loss.pauseLimitMs = limits.pauseMs\n',
      '',
      'in whole seconds',
    ),
    tests: 'test/faults/mysql-limits.test.ts',
  },
  {
    ...mutant(
      'a lease that is lost while the check waits is told as a row that stays locked',
      ORDER,
      'if (!lease.held && (cancelled || error instanceof TimedOut)) throw notHeld(terms, error)',
      '',
      'the row of the guard',
    ),
    tests: UNDONE,
  },
  {
    ...mutant(
      'the complaint of postgres.js about its savepoint is passed on when all is undone',
      'src/transaction/postgres-js.ts',
      ': notHeld(this.#terms, error)',
      ': error',
      'hides what was interrupted',
    ),
    tests: UNDONE,
  },
  {
    ...mutant(
      'ROLLBACK is put into the queue of pg, behind what is under way',
      'src/transaction/pg.ts',
      'await this.#gate.idle()\n    await this.#undoing',
      'void this.#undoing',
    ),
    tests: ONE_BY_ONE,
  },
  {
    ...mutant(
      'COMMIT is put into the queue of pg, behind what is under way',
      'src/transaction/pg.ts',
      'await this.#gate.settled()\n',
      '',
      'is sent when that has been answered',
    ),
    tests: ONE_BY_ONE,
  },
  {
    ...mutant(
      'COMMIT is sent though the lease was lost while it waited for what the function did not',
      'src/transaction/session.ts',
      '}\n    if (!lease.held) throw notHeld(this.#terms)\n  }',
      '}\n  }',
      'is not sent if the lease is lost meanwhile',
    ),
    tests: ONE_BY_ONE,
  },
  {
    ...mutant(
      'a COMMIT that was never sent is told as an unknown outcome',
      'src/transaction/session.ts',
      'throw lease.held ? notCommitted(key, error as Error) : notHeld(this.#terms, error)',
      'throw unknownOutcome(key, error)',
      'no unknown outcome',
    ),
    tests: ONE_BY_ONE,
  },
  {
    ...mutant(
      'a connection is given back while a statement on it may yet be cancelled',
      'src/transaction/undo.ts',
      'if (this.#asked) await this.tried',
      '',
      'ends by itself just then',
    ),
    tests: INTERRUPTED,
  },
  {
    ...mutant(
      'ROLLBACK waits for an interruption that waits for a connection',
      'src/transaction/undo.ts',
      'if (this.#asked) await this.tried',
      'await this.tried',
      'has no connection',
    ),
    tests: INTERRUPTED,
  },
  mutant(
    'the lock is given back before COMMIT',
    'src/locks.ts',
    'return this.using(keys, terms.usingOptions, (lease) => run(lease as AnyLease) as Promise<T>)',
    `const [outcome] = await this.using(keys, terms.usingOptions, (lease) => [run(lease as AnyLease) as Promise<T>])
    return outcome as Promise<T>`,
  ),
  {
    ...mutant(
      'COMMIT waits for a cursor that was left',
      'src/transaction/postgres-js.ts',
      'set: (other: typeof settle) => {\n      settle = other\n    },',
      'set: (value: typeof settle) => {\n      Object.defineProperty(query, name, { value, writable: true })\n    },',
      'a cursor',
    ),
    tests: POSTGRES_JS,
  },
  {
    ...mutant(
      'a savepoint that was not awaited ends in the next transaction',
      'src/transaction/postgres-js.ts',
      'this.#savepoints.add(ended)',
      '',
      'a savepoint',
    ),
    tests: POSTGRES_JS,
  },
  {
    ...mutant(
      'COMMIT is sent behind a statement that pg has stopped to wait for',
      'src/transaction/pg.ts',
      'if (isUnheard(error)) this.#unheard ??= error',
      '',
      'query_timeout',
    ),
    tests: ONE_BY_ONE,
  },
  mutant(
    'the token is not shown to the guard',
    ORDER,
    'if (guard) await check(guard, session, terms)',
    'if (guard && session === null) await check(guard, session, terms)',
  ),
  mutant(
    'the next transaction on a connection begins before the last one has ended',
    ORDER,
    'return await inSession(session, now, guard, body)',
    'return inSession(session, now, guard, body)',
  ),
  mutant(
    'a function that fails leaves its transaction open',
    ORDER,
    'await session.rollback()\n    if (error instanceof LockError)',
    'if (error instanceof LockError)',
  ),
  mutant(
    'of several keys only the first is checked',
    ORDER,
    'for (const key of lease.keys) await',
    'for (const key of lease.keys.slice(0, 1)) await',
  ),
]
