import { within } from '../../databases/limit.ts'
import type { MysqlConnection, MysqlPool } from '../../databases/mysql.ts'
import { isSpent } from '../../databases/mysql-errors.ts'
import { type MysqlReply, MysqlSession, type SessionStatus, textOf } from '../../databases/mysql-session.ts'
import type { Pool } from '../../store.ts'
import { type Change, type Database, LIMIT_MS } from './database.ts'
import { insideTransaction, TimedOut } from './failures.ts'

/** Connections that somebody may have given back in the middle of a transaction. */
const MAX_TRIES = 3

/** The connection of one step. */
class Loan {
  /** Nobody waits for it any more. */
  over = false
  /** While a connection is out. */
  session: MysqlSession | undefined

  /** What was given up goes no further: the step after it may be under way, and a late COMMIT or ROLLBACK end that. */
  async query(sql: string): Promise<MysqlReply> {
    if (this.over || !this.session) throw new TimedOut('given up before it was sent')
    return this.session.query(sql)
  }
}

/** A pool or a connection, the user's or our own. */
export class LendingDatabase implements Database {
  readonly #lender: Lender
  /** Connections that are known to commit each statement by themselves. */
  readonly #committing = new WeakSet<object>()

  constructor(lender: Lender) {
    this.#lender = lender
  }

  read(sql: string): Promise<readonly string[]> {
    return this.#lend(async (loan) => ({ rows: textsIn((await loan.query(sql)).rows), status: null }))
  }

  change({ change, read }: Change): Promise<readonly string[]> {
    return this.#lend(async (loan) => {
      const { rows, status } = await loan.query(change)
      if (read !== null) return { rows: textsIn((await loan.query(read)).rows), status }
      return withStatus(textsIn(rows))
    })
  }

  pool(): Pool | null {
    return this.#lender.count?.() ?? null
  }

  close(): Promise<void> {
    return this.#lender.end()
  }

  /** One limit for both: the wait for a connection, and that for the answer. */
  #lend(work: Work): Promise<readonly string[]> {
    const loan = new Loan()
    return within(this.#borrow(loan, work), LIMIT_MS, () => {
      loan.over = true
      if (!loan.session) return new TimedOut(this.#lender.usedUp())
      // The only one there is, is not free before what was sent by it is answered, and undone if need be.
      if (this.#lender.pooled) this.#giveBack(loan, true)
      return new TimedOut(`the server did not answer within ${LIMIT_MS} ms`)
    })
  }

  async #borrow(loan: Loan, work: Work): Promise<readonly string[]> {
    for (let tries = 1; ; tries += 1) {
      const session = await this.#lender.take()
      loan.session = session
      if (loan.over) {
        this.#giveBack(loan, false)
        throw new TimedOut('nobody waits for the connection any more')
      }
      const stopListening = session.hearErrors()
      try {
        const rows = await this.#apart(session, loan, work)
        if (rows) return rows
        if (tries === MAX_TRIES || !this.#lender.pooled) throw insideTransaction()
      } catch (error) {
        this.#giveBack(loan, this.#lender.pooled && isSpent(error))
        throw error
      } finally {
        stopListening()
        this.#giveBack(loan, false)
      }
    }
  }

  #giveBack(loan: Loan, broken: boolean): void {
    const { session } = loan
    loan.session = undefined
    if (session) this.#lender.giveBack(session, broken)
  }

  /** Null if the connection is inside a transaction, so that nothing was done, or it was undone. */
  async #apart(session: MysqlSession, loan: Loan, work: Work): Promise<readonly string[] | null> {
    const { core } = session
    if (!this.#committing.has(core) || !this.#lender.pooled) {
      const { inTransaction, autocommit } = await session.status()
      if (inTransaction) return this.#undo(loan)
      if (!autocommit) return committed(session, loan, work)
      this.#committing.add(core)
    }
    const { rows, status } = await work(loan)
    if (status?.autocommit === false) {
      this.#committing.delete(core)
      await session.query('commit')
    } else if (status?.inTransaction) {
      return this.#undo(loan)
    }
    return rows
  }

  /** What somebody left in a connection of a pool is nobody's. That of the user's own connection is his. */
  async #undo(loan: Loan): Promise<null> {
    if (this.#lender.pooled) await loan.query('rollback')
    return null
  }
}

type Work = (loan: Loan) => Promise<Done>

interface Done {
  readonly rows: readonly string[]
  /** Null if it is not known, and does not matter. */
  readonly status: SessionStatus | null
}

/** Where a database has its connections from. */
interface Lender {
  readonly pooled: boolean
  take(): Promise<MysqlSession>
  giveBack(session: MysqlSession, broken: boolean): void
  /** Why `take` does not come to an end. */
  usedUp(): string
  /** Its connections; absent where there is but one. */
  count?(): Pool | null
  end(): Promise<void>
}

/** `end` closes the pool if it is ours. */
export function poolLender(pool: MysqlPool, end: () => Promise<void> = async () => {}): Lender {
  return {
    pooled: true,
    take: async () => new MysqlSession(await pool.getConnection()),
    giveBack: (session, broken) => (broken ? session.destroy() : session.release()),
    usedUp: () =>
      `no connection of the pool came free within ${LIMIT_MS} ms: the server does not answer, or your own ` +
      'transactions use all of them; make the pool larger, or give the store a pool of its own',
    count: () => countOf(pool as Partial<CountingPool>),
    end,
  }
}

/** As `mariadb` has it; `mysql2` does not tell. */
interface CountingPool {
  totalConnections(): number
  idleConnections(): number
  taskQueueSize(): number
}

function countOf(pool: Partial<CountingPool>): Pool | null {
  const [open, idle, waiting] = [pool.totalConnections?.(), pool.idleConnections?.(), pool.taskQueueSize?.()]
  return open === undefined || idle === undefined || waiting === undefined ? null : { open, idle, waiting }
}

/** One connection, used by nobody else. Its steps come one after the other. Once it is lost, it stays lost. */
export function connectionLender(connection: MysqlConnection): Lender {
  const session = new MysqlSession(connection)
  const stopListening = session.hearErrors()
  let last: Promise<unknown> = Promise.resolve()
  let end = (): void => {}
  return {
    pooled: false,
    take: () => {
      const turn = last.then(() => session)
      last = turn.then(() => new Promise<void>((resolve) => (end = resolve)))
      return turn
    },
    giveBack: () => end(),
    usedUp: () =>
      `no answer came within ${LIMIT_MS} ms: the connection is busy with other statements, or the server does not answer`,
    end: async () => stopListening(),
  }
}

/** Where nothing is committed by itself. */
async function committed(session: MysqlSession, loan: Loan, work: Work): Promise<readonly string[]> {
  if (loan.over) throw new TimedOut('given up before it was begun')
  try {
    const { rows } = await work(loan)
    await loan.query('commit')
    return rows
  } catch (error) {
    // A statement that waited too long for a row is undone alone: the transaction around it is ours, and still open.
    // Also of a step that was given up, whose turn on the connection is not over before.
    await session.query('rollback').catch(() => undefined)
    throw error
  }
}

function textsIn(rows: readonly (readonly unknown[])[]): string[] {
  return rows.map(([text]) => textOf(text))
}

/** Rows that say in front what `SESSION` asks. */
function withStatus(rows: readonly string[]): Done {
  const [inTransaction, autocommit] = rows[0]?.split(',', 2) ?? []
  return {
    rows: rows.map((row) => row.slice(4)),
    status: { inTransaction: inTransaction === '1', autocommit: autocommit === '1' },
  }
}
