import type { PostgresJs, PostgresJsQueryable } from '../databases/postgres-js.ts'
import type { LockError } from '../errors.ts'
import { endedInside, isEndedInside, STILL_INSIDE } from './control.ts'
import { within } from './limit.ts'
import { Loss } from './loss.ts'
import { isAftermath, isCutOff, isFarewell, isRefusal, levelOf, limitsOf } from './postgres.ts'
import {
  asOfNow,
  cannotBegin,
  failedInside,
  Gate,
  notHeld,
  type Session,
  type Terms,
  unknownOutcome,
} from './session.ts'
import { Interruption, UNDO, WHICH } from './undo.ts'

/**
 * By `sql.begin`, which alone tells when the connection is lost. It sends COMMIT or ROLLBACK itself, according
 * to what its function does; so that function waits for our decision.
 */
export async function beginInPostgresJs(sql: PostgresJs, terms: Terms): Promise<Session> {
  let gaveUp = false
  let session: PostgresJsSession | null = null
  const begun = new Promise<Session>((resolve, reject) => {
    const ended: Promise<unknown> = sql.begin(levelOf(terms), (raw) => {
      if (gaveUp) throw new Error('too late, nobody waits any more')
      const now = asOfNow(terms)
      const decision = new Decision()
      session = new PostgresJsSession({ sql, raw, ended: () => ended }, now, decision)
      resolve(session)
      return decision.promise
    })
    ended.then(undefined, (error: Error) => {
      session?.onLoss(error)
      reject(error)
    })
  })
  try {
    const what =
      'the server did not answer BEGIN, or all connections of the client are in use: allow it more of them, ' +
      'or hold them for less time; none'
    return await within(terms.lease.env, { ms: terms.stepMs, what }, begun)
  } catch (error) {
    gaveUp = true
    throw cannotBegin(terms.key, error)
  }
}

interface Begun {
  readonly sql: PostgresJs
  readonly raw: PostgresJsQueryable
  readonly ended: () => Promise<unknown>
}

class Decision {
  readonly promise: Promise<void>
  commit!: () => void
  rollBack!: (reason: Error) => void

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.commit = resolve
      this.rollBack = reject
    })
  }
}

class PostgresJsSession implements Session {
  readonly tx: PostgresJsQueryable
  readonly #sql: PostgresJs
  readonly #raw: PostgresJsQueryable
  readonly #terms: Terms
  readonly #gate: Gate
  readonly #decision: Decision
  readonly #ended: () => Promise<unknown>
  readonly #loss: Loss
  /** See `WHICH`. */
  #id: unknown
  #interruption: Interruption | null = null
  #undone = false
  #decided = false
  /** Without an end. What the client sends then belongs in front of COMMIT or ROLLBACK: behind that, it is for somebody else. */
  readonly #savepoints = new Set<Promise<unknown>>()
  /** What statements of the function got. For such an error the client has rolled back, whatever its code. */
  readonly #failures = new WeakSet<object>()

  constructor({ sql, raw, ended }: Begun, terms: Terms, decision: Decision) {
    this.#sql = sql
    this.#raw = raw
    this.#terms = terms
    this.#gate = new Gate(terms)
    this.#loss = new Loss(terms, this.#gate)
    this.#decision = decision
    this.#ended = ended
    this.tx = this.#guarded(raw)
    // Goes out together with what comes next. If it fails, so does all the rest.
    raw
      .unsafe(`select ${WHICH}, ${limitsOf(terms)}`)
      .values()
      .then(
        ([row]) => (this.#id = (row as unknown[])[0]),
        () => undefined,
      )
  }

  get broken(): unknown {
    return this.#loss.cause
  }

  /** Also called when `sql.begin` has ended: before a decision that can only mean that the connection is gone. */
  onLoss(error: unknown): void {
    if (!this.#decided) this.#loss.found(error)
  }

  lossIn(error: unknown): LockError | null {
    return this.#loss.in(error)
  }

  async commit(): Promise<void> {
    const { key, lease } = this.#terms
    if (this.#gate.misused) throw this.#gate.misused
    this.#gate.close()
    await this.#gate.settled(this.#savepoints)
    const lost = await this.#foundLost()
    if (lost) throw lost
    this.#decided = true
    // Goes out in front of COMMIT. If it fails, that commits nothing.
    const asked = this.#raw.unsafe(STILL_INSIDE).then(
      () => null,
      (error: Error) => error,
    )
    this.#decision.commit()
    try {
      await within(lease.env, { ms: lease.remainingMs, what: 'no answer came' }, this.#ended())
    } catch (error) {
      // Also if a statement had failed and the error was not passed on: the client then rolls back.
      throw isRefusal(error) || this.#failures.has(error as object) ? error : unknownOutcome(key, error)
    }
    const failure = await asked
    if (failure === null) return
    if (isEndedInside(failure)) throw endedInside(key, failure)
    throw isAftermath(failure) ? failedInside(key) : failure
  }

  async rollback(): Promise<void> {
    if (this.#decided) return
    this.#gate.close()
    const { lease, stepMs } = this.#terms
    const end = lease.env.now() + stepMs
    const done = (what: string, work: Promise<unknown>): Promise<unknown> =>
      within(lease.env, { ms: end - lease.env.now(), what }, work).then(undefined, () => undefined)
    // The client gives the connection to others as soon as ROLLBACK is answered.
    if (this.#interruption) await done('what ran was not interrupted', this.#interrupted())
    if (this.#savepoints.size > 0) await done('a savepoint did not end', Promise.allSettled(this.#savepoints))
    if (await this.#foundLost()) return
    this.#decided = true
    this.#decision.rollBack(new Error('rolled back'))
    await done('ROLLBACK was not answered', this.#ended())
  }

  undo(): void {
    void this.#undo()
  }

  async #undo(): Promise<void> {
    if ((await this.#foundLost()) || this.#decided) return
    if (this.#gate.busy) this.#interruption = new Interruption(this.#sql, this.#id)
    if (this.#gate.closed) return
    this.#undone = true
    // Behind what is under way. Not behind an open stream of COPY: the client refuses it (COPY_IN_PROGRESS), and a server
    // that waits for data heeds neither a limit nor an `Interruption`. So nothing is undone before that ends; nothing is stored.
    this.#raw.unsafe(UNDO).then(undefined, () => undefined)
  }

  async #interrupted(): Promise<void> {
    await this.#gate.idle()
    await this.#interruption?.end()
  }

  /**
   * What the client (3.4.9) sends on a connection that is lost ends the process, is never answered, or goes to
   * the connection that was opened in its place. The news takes some promise jobs to get here; this waits for it.
   */
  async #foundLost(): Promise<LockError | null> {
    await new Promise<void>((resolve) => this.#terms.lease.env.defer(resolve))
    return this.#loss.refusal
  }

  #guarded<Q extends object>(raw: Q): Q {
    const query = (call: unknown, self: unknown, args: unknown[]): unknown => {
      const { refusal } = this.#gate
      if (refusal) throw refusal
      return this.#guardedQuery(Reflect.apply(call as () => unknown, self, args))
    }
    return new Proxy(raw, {
      // Also called to name a column or to list values; only a template is a query.
      apply: (target, self, args: unknown[]) =>
        isTemplate(args[0]) ? query(target, self, args) : Reflect.apply(target as () => unknown, self, args),
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (name === 'prepare') {
          return () => {
            throw this.#gate.misuse('PREPARE TRANSACTION')
          }
        }
        if (name === 'savepoint') {
          const savepoint = (...args: unknown[]): unknown => query(value, target, args)
          return (...args: unknown[]) => this.#savepoint(savepoint, args)
        }
        const sends = name === 'unsafe' || name === 'file' || name === 'notify'
        return sends ? (...args: unknown[]) => query(value, target, args) : value
      },
    })
  }

  /** A query is sent when someone waits for it, which may be later than we think. */
  #guardedQuery(query: unknown): unknown {
    const lazy = query as LazyQuery
    const { handler, reject } = lazy
    if (typeof handler !== 'function' || typeof reject !== 'function') return query
    let open = false
    const answered = (): void => {
      if (open) this.#gate.answered()
      open = false
    }
    const send = (sending: LazyQuery): void => {
      const refusal = this.#gate.refusalOf(startOf(sending)) ?? this.#loss.refusal
      if (refusal) return sending.reject(refusal)
      this.#gate.sent()
      open = true
      handler(sending)
    }
    // A cursor that is iterated puts others in their place for each batch, and never settles the query itself.
    before(lazy, 'resolve', answered)
    // Here a loss is known before anyone can send the next query in reply to it.
    before(lazy, 'reject', (error) => {
      if (isCutOff(error) || isFarewell(error)) {
        this.#loss.add(error as Error)
        this.onLoss(error)
      } else if (error instanceof Error) this.#failures.add(error)
      answered()
    })
    lazy.handler = Object.assign(send, handler)
    return lazy
  }

  /** The last argument is a function, which gets a transaction of its own. */
  async #savepoint(savepoint: (...args: unknown[]) => unknown, args: unknown[]): Promise<unknown> {
    const work = args.at(-1)
    if (typeof work !== 'function') return savepoint(...args)
    let failure: { readonly error: unknown } | null = null
    const guarded = async (inner: object): Promise<unknown> => {
      try {
        const result: unknown = work(this.#guarded(inner))
        return await (Array.isArray(result) ? Promise.all(result) : result)
      } catch (error) {
        failure = { error }
        throw error
      }
    }
    const ended = Promise.resolve(savepoint(...args.slice(0, -1), guarded))
    this.#savepoints.add(ended)
    try {
      return await ended
    } catch (error) {
      if (!this.#undone) throw error
      // The client cannot go back to its savepoint any more, and complains of that. Nor if the function has succeeded:
      // an error that it has hidden is one for the client.
      throw failure ? (failure as { error: unknown }).error : notHeld(this.#terms, error)
    } finally {
      this.#savepoints.delete(ended)
    }
  }
}

/** What a query of postgres.js is made of. */
interface LazyQuery extends PromiseLike<unknown> {
  readonly strings?: readonly string[]
  readonly args?: readonly unknown[]
  handler: (query: LazyQuery) => void
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/** `heard` comes first, whoever settles the query, and also if another function was put in place of this one. */
function before(query: LazyQuery, name: 'resolve' | 'reject', heard: (value: unknown) => void): void {
  let settle = query[name]
  Object.defineProperty(query, name, {
    configurable: true,
    enumerable: true,
    get: () => (value: unknown) => {
      heard(value)
      settle(value)
    },
    set: (other: typeof settle) => {
      settle = other
    },
  })
}

/** How the text of a query starts. A template may start with a fragment, which is a query in itself. */
function startOf({ strings, args }: LazyQuery): string | undefined {
  const first = strings?.[0]
  const fragment = args?.[0] as LazyQuery | null | undefined
  return first?.trim() === '' && typeof fragment?.handler === 'function' ? startOf(fragment) : first
}

function isTemplate(value: unknown): boolean {
  return Array.isArray((value as { raw?: unknown } | null | undefined)?.raw)
}
