import { has } from '../databases/methods.ts'
import type { MysqlConnection, MysqlPool } from '../databases/mysql.ts'
import { isGone } from '../databases/mysql-errors.ts'
import { MysqlSession } from '../databases/mysql-session.ts'
import { LockError } from '../errors.ts'
import { isThenable } from '../thenable.ts'
import { endedInside } from './control.ts'
import { TimedOut, within } from './limit.ts'
import { Loss } from './loss.ts'
import { handleOn } from './mysql-handle.ts'
import {
  isInside,
  isRefusal,
  isUndone,
  isUnmarked,
  isUnparsed,
  type Limits,
  limitsOn,
  MARK,
  REFUSE_INSIDE,
  type Server,
  serverOf,
} from './mysql-server.ts'
import {
  alreadyInside,
  asOfNow,
  cannotBegin,
  Gate,
  type Session,
  type Terms,
  unknownOutcome,
} from './session.ts'

/** A connection for one transaction. */
interface Loan {
  readonly connection: MysqlConnection
  /** The pool, or the connection itself. */
  readonly from: object
  /** How long it may take until it has begun. */
  readonly limitMs: number
}

/** On a connection of its own. */
export async function beginInMysqlPool(pool: MysqlPool, terms: Terms): Promise<Session> {
  const { key, lease, stepMs } = terms
  const start = lease.env.now()
  const limit = {
    ms: stepMs,
    what: 'the pool gave no connection; make it larger, or hold its connections for less time: none came',
  }
  let connection
  try {
    connection = await within(lease.env, limit, pool.getConnection(), (late) => void late.release())
  } catch (error) {
    throw cannotBegin(key, error)
  }
  const limitMs = stepMs - (lease.env.now() - start)
  return MysqlTransaction.begin({ connection, from: pool, limitMs }, asOfNow(terms))
}

/** On the user's own connection. The caller sees to it that nobody else uses it. */
export function beginOnMysqlConnection(connection: MysqlConnection, terms: Terms): Promise<Session> {
  return MysqlTransaction.begin({ connection, from: connection, limitMs: terms.stepMs }, terms)
}

class MysqlTransaction implements Session {
  readonly tx: MysqlConnection
  readonly #session: MysqlSession
  readonly #terms: Terms
  readonly #gate: Gate
  /** It came from a pool, and nobody but us has it. */
  readonly #pooled: boolean
  readonly #loss: Loss
  readonly #stopListening: () => void
  #server: Server | null = null
  #limits: Limits | null = null
  /** See `isUndone`. */
  #undone: Error | null = null
  #left = false

  private constructor({ connection, from }: Loan, terms: Terms) {
    this.#pooled = from !== connection
    this.#session = new MysqlSession(connection)
    this.#terms = terms
    this.#gate = new Gate(terms)
    this.#loss = new Loss(terms, this.#gate)
    this.tx = handleOn(connection, {
      send: (send, sql) => this.#send(send, sql),
      misuse: (word) => this.#gate.misuse(word),
    })
    this.#stopListening = this.#session.hearErrors((error) => this.#loss.found(error))
  }

  static async begin(loan: Loan, terms: Terms): Promise<Session> {
    const transaction = new MysqlTransaction(loan, terms)
    try {
      const limit = { ms: loan.limitMs, what: 'the server did not answer BEGIN' }
      const begun = await within(terms.lease.env, limit, transaction.#begin(loan.from))
      if (begun) return transaction
    } catch (error) {
      if (error instanceof TimedOut) transaction.#leave(true)
      // Nothing was done yet, and a transaction that is open is the user's own.
      else if (!transaction.#limits && !transaction.#pooled) transaction.#leave(false)
      else await transaction.rollback()
      throw cannotBegin(terms.key, error)
    }
    // A pool must not lend it again as it is. The user's own transaction goes on.
    if (transaction.#pooled) await transaction.rollback()
    else transaction.#leave(false)
    throw alreadyInside(terms.key)
  }

  get broken(): unknown {
    return this.#loss.cause
  }

  lossIn(error: unknown): LockError | null {
    return this.#loss.in(error)
  }

  async commit(): Promise<void> {
    const { key, lease } = this.#terms
    this.#gate.close()
    if (this.#gate.misused) throw this.#gate.misused
    await this.#gate.settled()
    if (this.#undone) throw this.#undone
    this.#failIfLost()
    try {
      const limit = { ms: lease.remainingMs, what: 'no answer came' }
      await within(lease.env, limit, this.#commit())
    } catch (error) {
      if (isUnmarked(error)) throw endedInside(key, error)
      const refused = isRefusal(error)
      if (!refused) this.#leave(true)
      throw refused ? error : unknownOutcome(key, error)
    }
    this.#leave(false)
  }

  async rollback(): Promise<void> {
    this.#gate.close()
    if (this.#left) return
    if (this.#loss.refusal) return this.#leave(true)
    try {
      const limit = { ms: this.#terms.stepMs, what: 'ROLLBACK was not answered' }
      await within(this.#terms.lease.env, limit, this.#session.query('rollback'))
      this.#leave(false)
    } catch {
      this.#leave(true)
    }
  }

  /** False if a transaction is open already. BEGIN would commit it. */
  async #begin(from: object): Promise<boolean> {
    const session = this.#session
    const { isolation } = this.#terms
    this.#server = await serverOf(from, session)
    const level = isolation === null ? [] : [`set transaction isolation level ${isolation}`]
    if (!this.#server.compound && (await session.status()).inTransaction) return false
    const limits = limitsOn(this.#server, asOfNow(this.#terms))
    this.#loss.pauseLimitMs = limits.pauseMs
    const steps = [limits.set, ...level, 'start transaction', `savepoint ${MARK}`]
    try {
      await this.#together(this.#server.compound ? [REFUSE_INSIDE, ...steps] : steps)
    } catch (error) {
      if (isInside(error)) return false
      // What the server has not understood, it has not begun with either.
      if (!isUnparsed(error)) this.#limits = limits
      throw error
    }
    this.#limits = limits
    return true
  }

  /** The settings go back before COMMIT, so that whatever fails, nothing is stored; the limits for this are ours. */
  async #commit(): Promise<void> {
    const settings = this.#server?.compound && this.#limits ? [this.#limits.reset] : []
    await this.#together([`release savepoint ${MARK}`, ...settings, 'commit'])
    if (settings.length > 0) this.#limits = null
  }

  /** In one round trip where the server can. If one of them fails, those behind it are not carried out. */
  async #together(statements: readonly string[]): Promise<void> {
    if (this.#server?.compound) await this.#session.query(`begin not atomic ${statements.join('; ')}; end`)
    else for (const statement of statements) await this.#session.query(statement)
  }

  #failIfLost(): void {
    const { refusal } = this.#loss
    if (!refusal) return
    this.#leave(true)
    throw refusal
  }

  /** Of one that is closed we go on listening: its last words are of no interest. */
  #leave(inDoubt: boolean): void {
    if (this.#left) return
    this.#left = true
    this.#gate.close()
    if (inDoubt) return this.#session.destroy()
    void this.#giveBack()
  }

  /** Nobody waits for it: what the user has set is back before the connection is. */
  async #giveBack(): Promise<void> {
    try {
      if (this.#limits) {
        const limit = { ms: this.#terms.stepMs, what: 'its settings were not restored' }
        await within(this.#terms.lease.env, limit, this.#session.query(this.#limits.reset))
      }
      this.#stopListening()
      if (this.#pooled) this.#session.release()
    } catch {
      this.#session.destroy()
    }
  }

  #send(send: () => unknown, sql: unknown): unknown {
    const refusal = this.#gate.refusalOf(sql) ?? this.#loss.refusal ?? this.#undone
    if (refusal) return Promise.reject(refusal)
    const result = send()
    if (!isThenable(result) || has(result, 'pipe')) return result
    this.#gate.sent()
    result.then(
      () => this.#gate.answered(),
      (error: Error) => {
        this.#gate.answered()
        if (this.#server && isUndone(error, this.#server)) this.#undone ??= error
        if (!isGone(error) && !this.#session.isGone) return
        this.#loss.add(error)
        this.#loss.found(error)
      },
    )
    return result
  }
}
