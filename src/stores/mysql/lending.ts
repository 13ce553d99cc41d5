import { within } from '../../databases/limit.ts'
import type { MysqlConnection, MysqlPool } from '../../databases/mysql.ts'
import { MysqlSession, type SessionStatus, textOf } from '../../databases/mysql-session.ts'
import type { Pool } from '../../store.ts'
import { type Change, type Database, LIMIT_MS } from './database.ts'
import { insideTransaction, isLost, TimedOut } from './failures.ts'

/** Connections that somebody may have given back in the middle of a transaction. */
const MAX_TRIES = 3

interface Loan {
  /** Nobody waits for it any more. */
  over: boolean
  /** While a connection is out. */
  session?: MysqlSession | undefined
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
    return this.#lend(async (session) => ({ rows: textsIn((await session.query(sql)).rows), status: null }))
  }

  change({ change, read }: Change): Promise<readonly string[]> {
    return this.#lend(async (session) => {
      const { rows, status } = await session.query(change)
      if (read !== null) return { rows: textsIn((await session.query(read)).rows), status }
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
    const loan: Loan = { over: false }
    return within(this.#borrow(loan, work), LIMIT_MS, () => {
      const { session } = loan
      loan.over = true
      loan.session = undefined
      if (!session) return new TimedOut(this.#lender.usedUp())
      this.#lender.giveBack(session, true)
      return new TimedOut(`the server did not answer within ${LIMIT_MS} ms`)
    })
  }

  async #borrow(loan: Loan, work: Work): Promise<readonly string[]> {
    for (let tries = 1; ; tries += 1) {
      const session = await this.#lender.take()
      if (loan.over) {
        this.#lender.giveBack(session, false)
        throw new TimedOut('nobody waits for the connection any more')
      }
      loan.session = session
      const stopListening = session.hearErrors()
      try {
        const rows = await this.#apart(session, work)
        if (rows) return rows
        if (tries === MAX_TRIES || !this.#lender.pooled) throw insideTransaction()
      } catch (error) {
        if (loan.session) this.#lender.giveBack(session, this.#lender.pooled && isLost(error))
        loan.session = undefined
        throw error
      } finally {
        stopListening()
        if (loan.session) this.#lender.giveBack(session, false)
        loan.session = undefined
      }
    }
  }

  /** Null if the connection is inside a transaction, so that nothing was done, or it was undone. */
  async #apart(session: MysqlSession, work: Work): Promise<readonly string[] | null> {
    const { core } = session
    if (!this.#committing.has(core) || !this.#lender.pooled) {
      const { inTransaction, autocommit } = await session.status()
      if (inTransaction) return this.#undo(session)
      if (!autocommit) return committed(session, work)
      this.#committing.add(core)
    }
    const { rows, status } = await work(session)
    if (status?.autocommit === false) {
      this.#committing.delete(core)
      await session.query('commit')
    } else if (status?.inTransaction) {
      return this.#undo(session)
    }
    return rows
  }

  /** What somebody left in a connection of a pool is nobody's. That of the user's own connection is his. */
  async #undo(session: MysqlSession): Promise<null> {
    if (this.#lender.pooled) await session.query('rollback')
    return null
  }
}

type Work = (session: MysqlSession) => Promise<Done>

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
    usedUp: () => `no answer came within ${LIMIT_MS} ms: the connection is busy with other statements`,
    end: async () => stopListening(),
  }
}

/** Where nothing is committed by itself. */
async function committed(session: MysqlSession, work: Work): Promise<readonly string[]> {
  try {
    const { rows } = await work(session)
    await session.query('commit')
    return rows
  } catch (error) {
    // A statement that waited too long for a row is undone alone: the transaction around it is ours, and still open.
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
