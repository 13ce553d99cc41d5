import { has, type PgClient, type PgPool } from '../databases/pg.ts'
import { LockError } from '../errors.ts'
import { isThenable } from '../section.ts'
import { TimedOut, within } from './limit.ts'
import { isAftermath, isRefusal, levelOf, limitsOf } from './postgres.ts'
import {
  alreadyInside,
  cannotBegin,
  connectionLost,
  Gate,
  type Session,
  type Terms,
  unknownOutcome,
} from './session.ts'

/** A connection for one transaction. */
interface Loan {
  readonly client: PgClient
  /** It came from a pool, and nobody but us has it. */
  readonly pooled: boolean
  /** How long BEGIN may take. */
  readonly limitMs: number
  /** One in doubt is closed: it may be inside a transaction, or busy for ever. */
  readonly giveBack: (inDoubt: boolean) => void
}

/** On a connection of its own. */
export async function beginInPool(pool: PgPool, terms: Terms): Promise<Session> {
  const { key, lease, stepMs } = terms
  const start = lease.env.now()
  const limit = { ms: stepMs, what: 'the pool gave no connection' }
  let client
  try {
    client = await within(lease.env, limit, pool.connect(), (late) => late.release())
  } catch (error) {
    throw cannotBegin(key, error instanceof TimedOut ? usedUp(pool, error) : error)
  }
  const lent = client
  const limitMs = stepMs - (lease.env.now() - start)
  const giveBack = (inDoubt: boolean): void => lent.release(inDoubt)
  return PgSession.begin({ client, pooled: true, limitMs, giveBack }, terms)
}

/** On the user's own connection. The caller sees to it that nobody else uses it. */
export function beginOnClient(client: PgClient, terms: Terms): Promise<Session> {
  const giveBack = (inDoubt: boolean): void => {
    const { end } = client as { end?: () => unknown }
    if (!inDoubt || !end) return
    const ending: unknown = end.call(client)
    if (isThenable(ending)) ending.then(undefined, ignore)
  }
  return PgSession.begin({ client, pooled: false, limitMs: terms.stepMs, giveBack }, terms)
}

class PgSession implements Session {
  readonly tx: PgClient
  readonly #client: PgClient
  readonly #terms: Terms
  readonly #gate: Gate
  readonly #giveBack: Loan['giveBack']
  readonly #onError: (error: Error) => void
  #broken: unknown = null
  /** The last error of a statement, in case it was not passed on. */
  #failure: unknown = null
  #left = false

  private constructor({ client, giveBack }: Loan, terms: Terms) {
    this.#client = client
    this.#terms = terms
    this.#gate = new Gate(terms)
    this.#giveBack = giveBack
    this.tx = this.#guarded(client)
    // While it is lent, an error of its connection would otherwise be nobody's and end the process.
    this.#onError = (error) => {
      this.#broken ??= error
    }
    client.on('error', this.#onError)
  }

  static async begin(loan: Loan, terms: Terms): Promise<Session> {
    const { client, limitMs } = loan
    const session = new PgSession(loan, terms)
    // All in one message, so in one round trip. The transaction has the time of this message, unless it is older.
    const text = `begin ${levelOf(terms)}; select case when now() = statement_timestamp() then 'new' else 'old' end,
      ${limitsOf(terms)}`
    try {
      const limit = { ms: limitMs, what: 'BEGIN was not answered; is the client connected? No answer' }
      const results: unknown = await within(terms.lease.env, limit, client.query({ text, rowMode: 'array' }))
      if (isNew(results)) return session
    } catch (error) {
      if (error instanceof TimedOut) session.#leave(true)
      else await session.rollback()
      throw cannotBegin(terms.key, error)
    }
    // A pool must not lend it again. The user's own transaction goes on, with shorter limits.
    session.#leave(loan.pooled)
    throw alreadyInside(terms.key)
  }

  get broken(): unknown {
    return this.#broken
  }

  async commit(): Promise<void> {
    const { key, lease } = this.#terms
    this.#gate.close()
    if (this.#broken !== null) {
      this.#leave(true)
      throw connectionLost(this.#terms, this.#broken)
    }
    let result: { readonly rows: unknown[]; readonly command?: string }
    try {
      const limit = { ms: lease.remainingMs, what: 'no answer came' }
      result = await within(lease.env, limit, this.#client.query({ text: 'commit' }))
    } catch (error) {
      const refused = isRefusal(error)
      this.#leave(!refused || this.#broken !== null)
      throw refused ? error : unknownOutcome(key, error)
    }
    this.#leave(false)
    if (result.command === 'ROLLBACK') throw (this.#failure as Error | null) ?? failedInside(key)
  }

  async rollback(): Promise<void> {
    this.#gate.close()
    if (this.#left) return
    if (this.#broken !== null) return this.#leave(true)
    try {
      const limit = { ms: this.#terms.stepMs, what: 'ROLLBACK was not answered' }
      await within(this.#terms.lease.env, limit, this.#client.query({ text: 'rollback' }))
      this.#leave(false)
    } catch {
      this.#leave(true)
    }
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
    const { refusal } = this.#gate
    if (refusal) {
      // With a callback, or with a query object such as a cursor, there is no promise to reject.
      if (args.some((arg) => typeof arg === 'function' || has(arg, 'submit'))) throw refusal
      return Promise.reject(refusal)
    }
    const result: unknown = (this.#client.query as (...args: unknown[]) => unknown).apply(this.#client, args)
    if (isThenable(result)) {
      result.then(undefined, (error: unknown) => {
        if (!isAftermath(error)) this.#failure = error
      })
    }
    return result
  }
}

function isNew(results: unknown): boolean {
  const last = Array.isArray(results) ? (results.at(-1) as { rows?: unknown[][] } | undefined) : undefined
  return last?.rows?.[0]?.[0] === 'new'
}

function usedUp({ totalCount, idleCount, waitingCount }: PgPool, error: TimedOut): TimedOut {
  error.message +=
    ` (${totalCount} open, ${idleCount} idle, ${waitingCount} waiting); make the pool larger, ` +
    'or hold its connections for less time'
  return error
}

function failedInside(key: string): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the transaction on "${key}" was rolled back at its COMMIT: a statement in it had failed, and its function did ` +
      'not pass the error on; use a savepoint for what may fail',
    { key },
  )
}

function refuseToEnd(): never {
  throw new LockError(
    'INVALID_OPTION',
    'transaction: the connection is given back when its function has ended',
  )
}

function ignore(): void {}
