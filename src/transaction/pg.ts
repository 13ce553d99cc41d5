import { has } from '../databases/methods.ts'
import { isInTransaction, type PgClient, type PgPool, transactionStatus } from '../databases/pg.ts'
import {
  hearErrors,
  isConnectTimeout,
  isPoolTimeout,
  UNREACHED,
  unreachedBy,
} from '../databases/pg-errors.ts'
import { describeError, LockError } from '../errors.ts'
import { isThenable } from '../thenable.ts'
import { endedInside, isEndedInside, STILL_INSIDE } from './control.ts'
import { TimedOut, within } from './limit.ts'
import { Loss } from './loss.ts'
import { isAftermath, isCutOff, isFarewell, isInside, isRefusal, levelOf, limitsOf } from './postgres.ts'
import {
  alreadyInside,
  asOfNow,
  cannotBegin,
  failedInside,
  Gate,
  type Session,
  type Terms,
  unknownOutcome,
} from './session.ts'
import { Interruption, UNDO, WHICH } from './undo.ts'

/** Of the transaction that a statement is in: new if it is its first, or its only one. */
const AGE = "case when now() = statement_timestamp() then 'new' else 'old' end"

/** A connection for one transaction. */
interface Loan {
  readonly client: PgClient
  /** Where it came from, so that nobody but us has it; null if it is the user's own. */
  readonly pool: PgPool | null
  /** How long BEGIN may take. */
  readonly limitMs: number
  /** One in doubt is closed: it may be inside a transaction, or busy for ever. */
  readonly giveBack: (inDoubt: boolean) => void
}

/** On a connection of its own. */
export async function beginInPool(pool: PgPool, terms: Terms): Promise<Session> {
  const { key, lease, stepMs } = terms
  hearErrors(pool)
  const start = lease.env.now()
  const limit = { ms: stepMs, what: 'the pool gave no connection' }
  let client
  try {
    client = await within(lease.env, limit, pool.connect(), (late) => late.release())
  } catch (error) {
    throw cannotBegin(key, withAdvice(pool, error))
  }
  const lent = client
  const limitMs = stepMs - (lease.env.now() - start)
  const giveBack = (inDoubt: boolean): void => lent.release(inDoubt)
  return PgSession.begin({ client, pool, limitMs, giveBack }, asOfNow(terms))
}

/** On the user's own connection. The caller sees to it that nobody else uses it. */
export function beginOnClient(client: PgClient, terms: Terms): Promise<Session> {
  const giveBack = (inDoubt: boolean): void => {
    const { end } = client as { end?: () => unknown }
    if (!inDoubt || !end) return
    const ending: unknown = end.call(client)
    if (isThenable(ending)) ending.then(undefined, ignore)
  }
  return PgSession.begin({ client, pool: null, limitMs: terms.stepMs, giveBack }, terms)
}

class PgSession implements Session {
  readonly tx: PgClient
  readonly #client: PgClient
  readonly #terms: Terms
  readonly #gate: Gate
  readonly #pool: PgPool | null
  readonly #giveBack: Loan['giveBack']
  readonly #onError: (error: Error) => void
  readonly #loss: Loss
  /** The last error of a statement, in case it was not passed on. */
  #failure: unknown = null
  /** See `isUnheard`. */
  #unheard: Error | null = null
  /** See `WHICH`. */
  #id: unknown
  #undoing: Promise<unknown> | null = null
  #interruption: Interruption | null = null
  #left = false

  private constructor({ client, pool, giveBack }: Loan, terms: Terms) {
    this.#client = client
    this.#pool = pool
    this.#terms = terms
    this.#gate = new Gate(terms)
    this.#loss = new Loss(terms, this.#gate)
    this.#giveBack = giveBack
    this.tx = this.#guarded(client)
    // While it is lent, an error of its connection would otherwise be nobody's and end the process.
    this.#onError = (error) => this.#loss.found(error)
    client.on('error', this.#onError)
  }

  static async begin(loan: Loan, terms: Terms): Promise<Session> {
    const { client, limitMs } = loan
    const session = new PgSession(loan, terms)
    if (isInTransaction(client)) throw session.#refuse(loan)
    const { env } = terms.lease
    const end = env.now() + limitMs
    const what = 'the client is not connected, or the server did not answer BEGIN'
    const send = (text: string): Promise<unknown> =>
      within(env, { ms: end - env.now(), what }, client.query({ text, rowMode: 'array' }))
    let begun = false
    try {
      // An older `pg` does not tell. With a level, BEGIN fails inside of a transaction, and makes that fail.
      const known = terms.isolation === null || transactionStatus(client) !== undefined
      if (!known && !isNew([await send(`select ${AGE}`)])) throw session.#refuse(loan)
      begun = true
      // All in one message, so in one round trip. The transaction has the time of this message, unless it is older.
      const limits = limitsOf(asOfNow(terms))
      const answer = await send(`begin ${levelOf(terms)}; select ${AGE}, ${WHICH}, ${limits}`)
      session.#id = lastOf(answer)?.rows?.[0]?.[1]
      if (isNew(answer)) return session
    } catch (error) {
      if (session.#left) throw error
      if (isInside(error)) throw session.#refuse(loan)
      if (error instanceof TimedOut) session.#leave(true)
      // Nothing was begun yet: a transaction that is open is the user's own.
      else if (!begun && !loan.pool) session.#leave(false)
      else await session.rollback()
      throw cannotBegin(terms.key, error)
    }
    throw session.#refuse(loan)
  }

  /** A pool must not lend it again. The user's own transaction goes on; if only the server knew of it, with shorter limits. */
  #refuse({ pool }: Loan): LockError {
    this.#leave(pool !== null)
    return alreadyInside(this.#terms.key)
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
    if (this.#unheard) throw this.#unheard
    this.#failIfLost()
    let results: unknown
    try {
      const limit = { ms: lease.remainingMs, what: 'no answer came' }
      results = await within(lease.env, limit, this.#client.query({ text: `${STILL_INSIDE}; commit` }))
    } catch (error) {
      if (isEndedInside(error)) throw endedInside(key, error)
      if (isAftermath(error)) throw (this.#failure as Error | null) ?? failedInside(key)
      const refused = isRefusal(error)
      if (!refused || this.#loss.refusal) this.#leave(true)
      // If it was the question that failed, COMMIT was not run, and the rest is for `rollback`.
      else if (transactionStatus(this.#client) === 'I') this.#leave(false)
      throw refused ? error : unknownOutcome(key, error)
    }
    this.#leave(false)
    if (lastOf(results)?.command === 'ROLLBACK') throw (this.#failure as Error | null) ?? failedInside(key)
  }

  async rollback(): Promise<void> {
    this.#gate.close()
    if (this.#left) return
    if (this.#loss.refusal) return this.#leave(true)
    try {
      const limit = { ms: this.#terms.stepMs, what: 'ROLLBACK was not answered' }
      await within(this.#terms.lease.env, limit, this.#rollBack())
      this.#leave(false)
    } catch {
      this.#leave(true)
    }
  }

  undo(): void {
    this.#undoing = this.#undo().then(undefined, ignore)
    if (this.#pool && this.#gate.busy) this.#interruption = new Interruption(this.#pool, this.#id)
  }

  /** Like ROLLBACK it waits here for what is under way: `pg` 9 will queue nothing, and 8 warns of that. */
  async #undo(): Promise<void> {
    await this.#gate.idle()
    await this.#interruption?.end()
    if (!this.#gate.closed) await this.#client.query({ text: UNDO })
  }

  async #rollBack(): Promise<void> {
    await this.#gate.idle()
    await this.#undoing
    // Too late, another may have the connection.
    if (!this.#left) await this.#client.query({ text: 'rollback' })
  }

  #failIfLost(): void {
    const { refusal } = this.#loss
    if (!refusal) return
    this.#leave(true)
    throw refusal
  }

  #leave(inDoubt: boolean): void {
    if (this.#left) return
    this.#left = true
    this.#gate.close()
    // Of one that is closed we go on listening: its last words are of no interest.
    if (!inDoubt) this.#client.removeListener('error', this.#onError as () => void)
    this.#giveBack(inDoubt)
  }

  #guarded(client: PgClient): PgClient {
    return new Proxy(client, {
      get: (target, name) => {
        if (name === 'query') return (...args: unknown[]) => this.#query(args)
        if (name === 'release' || name === 'end') return refuseToEnd
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  #query(args: unknown[]): unknown {
    const refusal = this.#gate.refusalOf(textOf(args[0])) ?? this.#loss.refusal ?? this.#unheard
    if (refusal) {
      // With a callback, or with a query object such as a cursor, there is no promise to reject.
      if (args.some((arg) => typeof arg === 'function' || has(arg, 'submit'))) throw refusal
      return Promise.reject(refusal)
    }
    const result: unknown = (this.#client.query as (...args: unknown[]) => unknown).apply(this.#client, args)
    if (isThenable(result)) {
      this.#gate.sent()
      result.then(
        () => this.#gate.answered(),
        (error: unknown) => {
          if (isLoss(error)) {
            this.#loss.add(error)
            // The event comes later, and COMMIT must not be sent in between.
            this.#loss.found(error)
          }
          this.#gate.answered()
          if (isUnheard(error)) this.#unheard ??= error
          if (!isAftermath(error)) this.#failure = error
        },
      )
    }
    return result
  }
}

/** By a `query_timeout` of the user: `pg` waits no longer, and tells nobody of an answer that comes later. */
function isUnheard(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Whether the connection is gone, in the words of the server, of the network or of `pg`. */
function isLoss(error: unknown): error is Error {
  if (isFarewell(error) || isCutOff(error)) return true
  return error instanceof Error && /^Connection terminated|is not queryable$/.test(error.message)
}

/** Of a query: its text, or an object that has one. */
function textOf(query: unknown): unknown {
  return typeof query === 'object' && query !== null ? Reflect.get(query, 'text') : query
}

/** Of a message with several statements. */
function lastOf(results: unknown): { rows?: unknown[][]; command?: string } | undefined {
  return Array.isArray(results) ? (results.at(-1) as object | undefined) : undefined
}

function isNew(results: unknown): boolean {
  return lastOf(results)?.rows?.[0]?.[0] === 'new'
}

/** Why a pool gave no connection, and what to do. */
function withAdvice(pool: PgPool, error: unknown): unknown {
  if (isConnectTimeout(error)) return new Error(`${UNREACHED} (${describeError(error)})`, { cause: error })
  if (!(error instanceof TimedOut) && !isPoolTimeout(error)) return error
  const { totalCount, idleCount, waitingCount } = pool
  const why = unreachedBy(pool) ?? 'make the pool larger, or hold its connections for less time'
  const counts = `(${totalCount} open, ${idleCount} idle, ${waitingCount} waiting)`
  return new Error(`${describeError(error)} ${counts}; ${why}`, { cause: error })
}

function refuseToEnd(): never {
  throw new LockError(
    'INVALID_OPTION',
    'transaction: the connection is given back when its function has ended',
  )
}

function ignore(): void {}
