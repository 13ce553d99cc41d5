import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import {
  isAnswer,
  isGrantNumber,
  isLockPage,
  isLockRecord,
  isReleaseAnswer,
  isRenewalAnswer,
} from './answers.ts'
import { Batcher, type Step } from './batcher.ts'
import { Compensation } from './compensation.ts'
import { Connection } from './connection.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import { Events, type LockEvent, type LockListener } from './events.ts'
import type { Hold } from './hold.ts'
import { checkKey } from './key.ts'
import { Lease } from './lease.ts'
import { lostBeforeRelease } from './line.ts'
import { Journal, WARNINGS_ONLY } from './monitor/journal.ts'
import { type LockStats, Stats } from './monitor/stats.ts'
import {
  type AcquireOptions,
  type Call,
  checkConfigure,
  checkListOptions,
  checkLocksOptions,
  checkNames,
  checkRequest,
  checkTransaction,
  type Defaults,
  type ListOptions,
  type LocksOptions,
  type Request,
  type Settings,
  type TransactionOptions,
  type TryOptions,
  type UsingOptions,
} from './options.ts'
import { checkOnce, Once, type OnceOptions, type OnceOutcome } from './once.ts'
import { Pace } from './pace.ts'
import { Renewals } from './renewals.ts'
import { Schedule } from './schedule.ts'
import { enclosingLease, runInside } from './section.ts'
import type {
  Answer,
  Ask,
  Claim,
  Holder,
  ListQuery,
  LockPage,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
} from './store.ts'
import { checkStore } from './store-check.ts'
import { storeLoader } from './store-url.ts'
import {
  checkBody,
  planTransaction,
  type TransactionDatabase,
  type TransactionManager,
  type TransactionOf,
} from './transaction.ts'
import { aborted, Contention } from './waiter.ts'
import { WaitingRoom } from './waiting-room.ts'

/** A client of one store, for this process. Make one and share it. */
export function createLocks(store: Store | string, options: LocksOptions = {}): Locks {
  return new Locks(store, options)
}

export interface Health {
  readonly ok: boolean
  readonly store: string
  /** How long the store took to answer just now; null if it did not. */
  readonly latencyMs: number | null
  readonly error: LockError | null
}

export type Body<T> = (lease: Lease) => T | Promise<T>

/**
 * The way of a lock: `acquire` → WaitingRoom (a Line per key; its head alone asks) → Batcher → Store
 * → Hold → Lease. All holds share one schedule of renewals and one of deadlines. `release` → the
 * next in line, or Batcher → Store.
 */
export class Locks {
  readonly #env: Environment
  readonly #events = new Events()
  readonly #journal: Journal
  readonly #connection: Connection
  readonly #compensation: Compensation
  readonly #renewals: Renewals
  readonly #deadlines: Schedule<Hold>
  readonly #room: WaitingRoom
  readonly #once: Once
  #settings: Settings
  /** What a call without options asks for, the same each time. */
  #plainRequests: Partial<Record<Call, Request>> = {}
  #closed: Promise<void> | null = null

  /** @internal Use `createLocks`. */
  constructor(store: Store | string, options: LocksOptions) {
    const checked = checkLocksOptions(options)
    const env = checked.environment
    const source = typeof store === 'string' ? storeLoader(store) : checkStore(store)
    this.#env = env
    this.#settings = checked.settings
    this.#journal = new Journal(
      env,
      new Stats(),
      this.#events,
      options.logger === undefined ? WARNINGS_ONLY : (options.logger ?? {}),
    )
    const connection = new Connection(source, env, this.#journal, checked.callTimeoutMs)
    this.#connection = connection
    const acquires = new Batcher<Ask, Answer>(env, connection, {
      call: (target, asks) => target.acquire(asks),
      isAnswer,
      late: (ask, answer) => {
        if (answer.granted) this.#room.strayGrant(ask)
      },
    })
    const releaseStep: Step<Claim, ReleaseAnswer> = {
      call: (target, claims) => target.release(claims),
      isAnswer: isReleaseAnswer,
    }
    const releases = new Batcher<Claim, ReleaseAnswer>(env, connection, releaseStep)
    const renewals = new Batcher<Renewal, RenewalAnswer>(env, connection, {
      call: (target, claims) => target.renew(claims),
      isAnswer: isRenewalAnswer,
    })
    this.#compensation = new Compensation(env, new Batcher(env, connection, releaseStep))
    this.#renewals = new Renewals(env, renewals)
    this.#deadlines = new Schedule<Hold>(env, (holds) => holds.forEach((hold) => hold.expire()))
    const { service } = checked
    const instance = checked.instance ?? `${hostname()}:${process.pid}:${randomBytes(3).toString('hex')}`
    const plainHolder: Holder = Object.freeze({ service, instance, context: null })
    this.#room = new WaitingRoom({
      env,
      journal: this.#journal,
      renewals: this.#renewals,
      deadlines: this.#deadlines,
      acquires,
      releases,
      compensation: this.#compensation,
      pace: new Pace(env, () => this.#settings),
      holder: (context) => (context === null ? plainHolder : { ...plainHolder, context }),
      latencyMs: () => connection.latencyMs,
      openWatch: (onFreed) => connection.watch(onFreed),
    })
    this.#once = new Once({
      env,
      journal: this.#journal,
      using: (key, options, body) => this.using(key, options, body),
    })
  }

  /**
   * Runs `body` while holding `key`, and releases it whatever happens. The body's error always wins.
   * If the lease was lost before the body ended, rejects with LOCK_LOST, since the body may not have
   * been alone. Inside, the same key can be entered again at once.
   */
  using<T>(key: string, body: Body<T>, options?: UsingOptions): Promise<T>
  using<T>(key: string, options: UsingOptions, body: Body<T>): Promise<T>
  async using<T>(key: string, second: Body<T> | UsingOptions, third?: Body<T> | UsingOptions): Promise<T> {
    const [body, options] = typeof second === 'function' ? [second, third] : [third, second]
    if (typeof body !== 'function')
      throw new LockError('INVALID_OPTION', 'using: give a function to run under the lock')
    const request = this.#check('using', key, options as UsingOptions | undefined)
    const lease = this.#leaseOrThrow(key, await this.#enter(key, request))
    lease.startBody()
    let result: T
    try {
      // It may have been lost, or the client closed, between the grant and this line.
      lease.assertHeld()
      result = await runInside(this, lease, body)
    } catch (error) {
      await lease.dispose()
      throw error
    }
    const left = await lease.dispose()
    if ((left === false || lease.loss) && !request.ignoreLoss) throw lease.loss ?? lostBeforeRelease(key)
    return result
  }

  /**
   * Runs `body` in a transaction of `db` while holding `key`: lock, BEGIN, the guard's check, `body`, still
   * held?, COMMIT or ROLLBACK, unlock. If the lease is lost before COMMIT it rolls back and rejects with
   * LOCK_LOST. STORE_UNAVAILABLE if it could not begin or, as the message then says, if the outcome is unknown.
   */
  transaction<D extends TransactionDatabase, T>(
    key: string,
    db: D,
    body: (tx: TransactionOf<D>, lease: Lease) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  transaction<X, T>(
    key: string,
    manager: TransactionManager<X>,
    body: (tx: X, lease: Lease) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  async transaction<T>(
    key: string,
    db: unknown,
    body: (tx: never, lease: Lease) => T | Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    checkBody(body, options)
    const terms = checkTransaction(options, this.#settings)
    const run = planTransaction(checkKey(key), db, body, terms)
    return this.using(key, terms.usingOptions, (lease) => run(lease) as Promise<T>)
  }

  /**
   * Has a job done once by all who call it: `done()`, lock, `done()` again, `run(lease)`. A caller that waits
   * returns as soon as `done()` is true, without the lock; if the runner dies, the next one runs. Rejects with
   * what `done` or `run` threw, or as `using` does. It waits for 5 minutes, or the client's `wait` if longer.
   */
  async once(key: string, options: OnceOptions): Promise<OnceOutcome> {
    checkKey(key)
    const terms = checkOnce(options, this.#settings)
    this.#assertOpen()
    return this.#once.call(key, terms)
  }

  /** Waits its turn for at most `wait`, then rejects with LOCK_ACQUIRE_TIMEOUT. Release it yourself. */
  async acquire(key: string, options?: AcquireOptions): Promise<Lease> {
    const request = this.#check('acquire', key, options)
    return this.#leaseOrThrow(key, await this.#enter(key, request))
  }

  /** One try: the lease, or null if someone else has the key. */
  async tryAcquire(key: string, options?: TryOptions): Promise<Lease | null> {
    const request = this.#check('tryAcquire', key, options)
    const outcome = await this.#enter(key, request)
    return outcome instanceof Contention ? null : outcome
  }

  /** Held keys of all clients of the store, a page at a time. */
  async list(options: ListOptions = {}): Promise<LockPage> {
    const query = checkListOptions(options)
    this.#assertOpen()
    return this.#list(query)
  }

  /** Who holds the key, or null. What it says may be over by the time you read it. */
  async inspect(key: string): Promise<LockRecord | null> {
    checkKey(key)
    this.#assertOpen()
    return (await this.#list({ key, limit: 1 })).locks[0] ?? null
  }

  /**
   * Frees a key whoever holds it. A holder elsewhere learns of it at its next renewal and may work on
   * until then: only the fencing token protects the resource. With `grant` nothing happens unless
   * that grant is still in force. Resolves to what was removed, or null.
   */
  async forceRelease(key: string, options: { readonly grant?: number } = {}): Promise<LockRecord | null> {
    checkKey(key)
    checkNames('forceRelease', options, ['grant'])
    const { grant } = options
    // Given but undefined: a guard that the caller believes in and that would not be there.
    if ('grant' in options && !isGrantNumber(grant)) {
      throw new LockError(
        'INVALID_OPTION',
        'forceRelease: grant must be the grant number of a lock that was listed',
      )
    }
    this.#assertOpen()
    const record = await this.#connection.ask((store) => store.evict(key, grant))
    if (record !== null && !isLockRecord(record)) throw this.#nonsense('evict')
    if (record) {
      this.#journal.evicted(key, record)
      this.#room.evicted(record)
    }
    return record
  }

  stats(): LockStats {
    return this.#journal.stats.snapshot({ held: this.#room.held, waiting: this.#room.waiting })
  }

  /** Calls `listener` on each such event from now on; the result stops it. */
  on<E extends LockEvent>(event: E, listener: LockListener<E>): () => void {
    this.#assertOpen()
    return this.#events.on(event, listener)
  }

  /** Changes defaults for acquisitions from now on; leases in force keep what they have. */
  configure(defaults: Defaults): void {
    this.#assertOpen()
    this.#settings = checkConfigure(defaults, this.#settings)
    this.#plainRequests = {}
  }

  /** Asks the store. Never rejects: a store that is down is an answer. */
  async health(): Promise<Health> {
    const store = this.#connection.name
    if (this.#closed) return { ok: false, store, latencyMs: null, error: closedError() }
    const start = this.#env.now()
    try {
      // One key, which need not be there: to find any held one, a store may have to read all that are not.
      await this.#list({ key: 'holdfast:health', limit: 1 })
      return { ok: true, store: this.#connection.name, latencyMs: this.#env.now() - start, error: null }
    } catch (error) {
      return { ok: false, store, latencyMs: null, error: error as LockError }
    }
  }

  /**
   * Turns waiters away, aborts the signals of leases in force, releases them (those of `using` when
   * their body ends, or at their deadline), and leaves nothing behind: no timer, listener, connection
   * or key. It takes at most as long as a lease and a few store calls.
   */
  close(): Promise<void> {
    // Closed from now on, also for a listener that closing itself calls.
    this.#closed ??= Promise.resolve().then(() => this.#close())
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#once.close(closedError())
    await this.#room.close(closedError())
    await this.#compensation.close()
    this.#renewals.close()
    this.#deadlines.close()
    await this.#connection.close()
    this.#events.clear()
  }

  async #list(query: ListQuery): Promise<LockPage> {
    const page = await this.#connection.ask((store) => store.list(query))
    if (!isLockPage(page)) throw this.#nonsense('list')
    return page
  }

  #nonsense(step: string): LockError {
    return this.#connection.asLockError(new Error(`a wrong answer to ${step}`))
  }

  #check(call: Call, key: string, options?: UsingOptions): Request {
    checkKey(key)
    const request =
      options === undefined
        ? (this.#plainRequests[call] ??= checkRequest(call, {}, this.#settings))
        : checkRequest(call, options, this.#settings)
    this.#assertOpen()
    this.#journal.stats.counters.requests += 1
    return request
  }

  #enter(key: string, request: Request): Promise<Lease | Contention> {
    if (request.signal?.aborted) {
      this.#journal.stats.counters.aborted += 1
      throw aborted(key, request.signal)
    }
    const outer = enclosingLease(this, key)
    if (!outer) return this.#room.enter(key, request)
    if (!request.reentrant) {
      this.#journal.stats.counters.failed += 1
      const message = `"${key}" is already held by the section around this call, which would wait for itself`
      throw new LockError('DEADLOCK', message, { key })
    }
    if (!outer.held) {
      this.#journal.stats.counters.failed += 1
      throw outer.loss ?? lostBeforeRelease(key)
    }
    return outer.enter(request)
  }

  #leaseOrThrow(key: string, outcome: Lease | Contention): Lease {
    if (outcome instanceof Lease) return outcome
    const by = outcome.by ? `; it is held by ${outcome.by}` : ''
    const message = `could not get "${key}" within ${Math.round(outcome.waitedMs)} ms${by}`
    throw new LockError('LOCK_ACQUIRE_TIMEOUT', message, { key })
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }
}

function closedError(): LockError {
  return new LockError('CLOSED', 'this Locks client was closed; make a new one with createLocks')
}
