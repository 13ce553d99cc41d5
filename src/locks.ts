import { inspect } from 'node:util'
import type { Alert } from './alerts/alert.ts'
import { isGrantNumber } from './answers.ts'
import type { AnyLease } from './bundle.ts'
import { type Contention, leaseOrNull, leaseOrThrow, type Outcome } from './contention.ts'
import {
  checkElect,
  type Election,
  type ElectionLoop,
  Elections,
  type ElectOptions,
  type TermBody,
} from './election.ts'
import { LockError } from './errors.ts'
import type { ClientName, LockEvent, LockListener } from './events.ts'
import { checkKey, checkKeys, type Keys } from './key.ts'
import type { Lease } from './lease.ts'
import type { RetryStrategy } from './fail-strategy.ts'
import {
  type AnyFunction,
  type FallbackLockableOptions,
  type Lockable,
  lockable,
  type LockableKeeping,
  type PlainLockableOptions,
} from './lockable.ts'
import { WARNINGS_ONLY } from './monitor/journal.ts'
import type { LockStats } from './monitor/stats.ts'
import type { Tracing } from './monitor/tracing.ts'
import {
  type AcquireOptions,
  type Call,
  checkListOptions,
  checkLocksOptions,
  checkRequest,
  checkTransaction,
  type ListOptions,
  type LocksOptions,
  type Request,
  type TransactionOptions,
  type TryOptions,
  type UsingOptions,
} from './options.ts'
import { checkNames } from './option-check.ts'
import { checkOnce, Once, type OnceOptions, type OnceOutcome } from './once.ts'
import type { Health } from './records.ts'
import { lostBeforeRelease } from './release-errors.ts'
import { runInside } from './section.ts'
import { checkConfigure, type Defaults, type Settings, settingsFor } from './settings.ts'
import type { LockPage, LockRecord, Store } from './store.ts'
import { checkStore } from './store-check.ts'
import { storeLoader } from './store-url.ts'
import {
  checkBody,
  planTransaction,
  type TransactionDatabase,
  type TransactionManager,
  type TransactionOf,
} from './transaction.ts'
import type { Limits, Longest } from './waiting-room.ts'
import { Workings } from './workings.ts'

/**
 * A client of one store, for this process. Make one and share it. It opens nothing before the first call.
 * `store`: a URL of `memory:`, `sqlite:./locks.db`, `postgres://`, `mysql://`, `mariadb://`, `redis://`, `valkey://` or
 * `mongodb://`; or a store object such as `memoryStore()` or `postgresStore(pool)`.
 */
export function createLocks(store: Store | string, options: LocksOptions = {}): Locks {
  return new Locks(store, options)
}

/** What `using` runs while it holds the key. The lease has the token and the signal. */
export type Body<T> = (lease: Lease) => T | Promise<T>

// The way of a lock: `acquire` → WaitingRoom (a Line per key; its head alone asks) → Batcher → Store → Hold → Lease.
// All holds share one schedule of renewals and one of deadlines. `release` → the next in line, or Batcher → Store.

/** What `createLocks` returns: takes, shows and frees keys of one store. Its waiters queue for each other. */
export class Locks {
  readonly #workings: Workings
  readonly #once: Once
  readonly #elections: Elections
  readonly #lockables: LockableKeeping
  /** What ends with the client, and before it. */
  readonly #attached = new Set<() => unknown>()
  #settings: Settings
  /** What a call without options asks for, the same each time. */
  #plainRequests: Partial<Record<Call, Request>> = {}
  #closed: Promise<void> | null = null

  /** @internal Use `createLocks`. */
  constructor(store: Store | string, options: LocksOptions) {
    const { environment, settings, service, instance, callTimeoutMs } = checkLocksOptions(options)
    this.#settings = settings
    this.#workings = new Workings({
      client: this,
      source: typeof store === 'string' ? storeLoader(store) : checkStore(store),
      env: environment,
      logger: options.logger === undefined ? WARNINGS_ONLY : (options.logger ?? {}),
      callTimeoutMs,
      service,
      instance,
      settings: () => this.#settings,
    })
    const above = {
      env: environment,
      journal: this.#workings.journal,
      using: <T>(key: Keys, given: UsingOptions | undefined, body: Body<T>): Promise<T> =>
        this.using(key, body, given),
      attach: (end: () => unknown): (() => void) => this.attach(end),
    }
    this.#once = new Once(above)
    this.#elections = new Elections({ ...above, inspect: (key) => this.inspect(key) })
    this.#lockables = { ...above, waitMs: (key) => settingsFor(key, this.#settings).waitMs }
    // Else assertion libraries call `inspect` of what they print.
    Object.defineProperty(this, inspect.custom, {
      value: () => `Locks { store: '${this.#workings.connection.name}' }`,
    })
  }

  /**
   * Runs `body` while holding `key`, and releases it whatever happens. The body's error always wins.
   * If the lease was lost before the body ended, rejects with LOCK_LOST, since the body may not have
   * been alone. Inside, the same key can be entered again at once.
   */
  using<T>(key: Keys, body: Body<T>, options?: UsingOptions): Promise<T>
  using<T>(key: Keys, options: UsingOptions, body: Body<T>): Promise<T>
  async using<T>(key: Keys, second: Body<T> | UsingOptions, third?: Body<T> | UsingOptions): Promise<T> {
    // This frame lives for as long as the caller waits, once for each. So no closure in it, which would keep its
    // variables on the heap, and no rest parameters, which would keep an array: about 50 and 60 bytes per waiter.
    const body = typeof second === 'function' ? second : third
    const options = typeof second === 'function' ? third : second
    if (typeof body !== 'function')
      throw new LockError('INVALID_OPTION', 'using: give a function to run under the lock')
    const { keys, request } = this.#check('using', key, options as UsingOptions | undefined)
    const lease = leaseOrThrow(keys, await this.#enter(keys, request, leaseOrThrow))
    lease.startBody()
    let result: T
    try {
      // It may have been lost, or the client closed, between the grant and this line.
      lease.assertHeld()
      result = await this.#run(lease, body)
    } catch (error) {
      await lease.dispose()
      throw error
    }
    const left = await lease.dispose()
    if ((left === false || lease.loss) && !request.ignoreLoss)
      throw lease.loss ?? lostBeforeRelease(lease.key)
    return result
  }

  /**
   * Runs `body` in a transaction of `db` while holding `key`: lock, BEGIN, the guard's check, `body`, still
   * held?, COMMIT or ROLLBACK, unlock. If the lease is lost before COMMIT it rolls back and rejects with
   * LOCK_LOST. STORE_UNAVAILABLE if it could not begin or, as the message then says, if the outcome is unknown.
   * Of several keys the guard checks each.
   */
  transaction<D extends TransactionDatabase, T>(
    key: Keys,
    db: D,
    body: (tx: TransactionOf<D>, lease: Lease) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  transaction<X, T>(
    key: Keys,
    manager: TransactionManager<X>,
    body: (tx: X, lease: Lease) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  async transaction<T>(
    key: Keys,
    db: unknown,
    body: (tx: never, lease: Lease) => T | Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    checkBody(body, options)
    const keys = checkKeys(key)
    const terms = checkTransaction(options, settingsFor(keys, this.#settings))
    const run = planTransaction(db, body, terms)
    return this.using(keys, terms.usingOptions, (lease) => run(lease as AnyLease) as Promise<T>)
  }

  /**
   * Has a job done once by all who call it: `done()`, lock, `done()` again, `run(lease)`. A caller that waits
   * returns as soon as `done()` is true, without the lock; if the runner dies, the next one runs. Rejects with
   * what `done` or `run` threw, or as `using` does. It waits for 5 minutes, or the client's `wait` if longer.
   */
  async once(key: string, options: OnceOptions): Promise<OnceOutcome> {
    checkKey(key)
    const terms = checkOnce(options, settingsFor(key, this.#settings))
    this.#assertOpen()
    return this.#once.call(key, terms)
  }

  /**
   * Stands for the leadership of `name`, which is a key like any other, and runs `body` for each term that it wins: at
   * most one at a time over all processes, until it is stopped. The body ends when `term.signal` aborts. Without a body,
   * the terms are the turns of `for await (const term of locks.elect(name))`.
   */
  elect(name: string, body: TermBody, options?: ElectOptions): Election
  elect(name: string, options: ElectOptions, body: TermBody): Election
  elect(name: string): ElectionLoop
  elect(name: string, options: ElectOptions): ElectionLoop
  elect(name: string, ...given: unknown[]): ElectionLoop {
    checkKey(name)
    const plan = checkElect(given, settingsFor(name, this.#settings))
    this.#assertOpen()
    return this.#elections.stand(name, plan)
  }

  /**
   * The same function under a lock, always asynchronous. `key` is made from its arguments, and `onFail` says what
   * happens instead of a call that does not get its key.
   */
  lockable<F extends AnyFunction, R>(fn: F, options: FallbackLockableOptions<F, R>): Lockable<F, Awaited<R>>
  lockable<F extends AnyFunction, O extends 'throw' | 'null' | RetryStrategy = 'throw'>(
    fn: F,
    options: PlainLockableOptions<F, O>,
  ): Lockable<F, O extends 'null' ? null : never>
  lockable(fn: AnyFunction, options: unknown): Lockable<AnyFunction> {
    return lockable(this.#lockables, fn, options)
  }

  /**
   * Waits its turn for at most `wait`, then rejects with LOCK_ACQUIRE_TIMEOUT. Release it yourself. Of several keys, at
   * most 1000, it takes all or none, in one order everywhere: no two that do so ever wait for each other.
   */
  async acquire(key: Keys, options?: AcquireOptions): Promise<Lease> {
    const { keys, request } = this.#check('acquire', key, options)
    return leaseOrThrow(keys, await this.#enter(keys, request, leaseOrThrow))
  }

  /** One try: the lease, or null if someone else has the key, or one of the keys. */
  async tryAcquire(key: Keys, options?: TryOptions): Promise<Lease | null> {
    const { keys, request } = this.#check('tryAcquire', key, options)
    return leaseOrNull(keys, await this.#enter(keys, request, leaseOrNull))
  }

  /** Held keys of all clients of the store, a page at a time. */
  async list(options: ListOptions = {}): Promise<LockPage> {
    const query = checkListOptions(options)
    this.#assertOpen()
    return this.#workings.records.list(query)
  }

  /** Who holds the key, or null. What it says may be over by the time you read it. */
  async inspect(key: string): Promise<LockRecord | null> {
    checkKey(key)
    this.#assertOpen()
    return (await this.#workings.records.list({ key, limit: 1 })).locks[0] ?? null
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
    return this.#workings.records.evict(key, grant)
  }

  /** Counters and times since the client was made, and what it holds now. Asks no store. Works after `close()`, too. */
  stats(): LockStats {
    const { journal, room, connection } = this.#workings
    return journal.stats.snapshot({ held: room.held, waiting: room.waiting, pool: connection.pool })
  }

  /** Calls `listener` on each such event from now on; the result stops it. */
  on<E extends LockEvent>(event: E, listener: LockListener<E>): () => void {
    this.#assertOpen()
    return this.#workings.events.on(event, listener)
  }

  /** Changes defaults for acquisitions from now on; leases in force keep what they have. */
  configure(defaults: Defaults): void {
    this.#assertOpen()
    this.#settings = checkConfigure(defaults, this.#settings)
    this.#plainRequests = {}
  }

  /** Asks the store. Never rejects: a store that is down is an answer. */
  async health(): Promise<Health> {
    const { records, identity } = this.#workings
    if (this.#closed) return { ok: false, store: identity.store, latencyMs: null, error: closedError() }
    return records.health()
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

  /**
   * @internal Ends with the client: `end` is called, and awaited, before anything else is closed. A function that it
   * gives is called, and awaited, after that.
   */
  attach(end: () => unknown): () => void {
    this.#assertOpen()
    this.#attached.add(end)
    return () => this.#attached.delete(end)
  }

  /** @internal To those who listen and to the log: something outside of core, such as a configuration, is wrong. */
  report(error: LockError): void {
    this.#workings.journal.warning(error)
  }

  /** @internal To those who listen and to the log: a limit is passed, or is kept again. */
  alert(alert: Alert): void {
    this.#workings.journal.alert(alert)
  }

  /** @internal Puts `tracing` around every lock from now on; the result stops it. */
  trace(tracing: Tracing): () => void {
    this.#assertOpen()
    return this.#workings.trace(tracing)
  }

  /**
   * @internal What has been held or waited for beyond these limits, the longest first, and at most `max` of each. Not in
   * elections: there it is meant.
   */
  longest(limits: Limits, max: number): Longest {
    return this.#workings.room.longest(limits, max, (key) => this.#elections.has(key))
  }

  /** @internal Whom the store and the metrics know it by. The name of a store that a URL names may change as it opens. */
  get identity(): ClientName {
    return this.#workings.identity
  }

  async #close(): Promise<void> {
    const ends = await Promise.allSettled([...this.#attached].map(async (end) => end()))
    this.#once.close(closedError())
    await this.#workings.close(closedError())
    const last = ends.map((end) => (end.status === 'fulfilled' ? end.value : null))
    await Promise.allSettled(last.map(async (end) => (typeof end === 'function' ? end() : null)))
    this.#workings.events.clear()
  }

  /**
   * What tracers see is what the caller gets: that is `as`. Without tracers `as` is left to the caller, who awaits this
   * anyhow: here it would cost 200 bytes per waiter, in a `then`, or 500, in a frame. So with tracers it is applied twice.
   */
  #enter<T>(keys: Keys, request: Request, as: Outcome<T>): Promise<AnyLease | Contention | T> {
    const { tracers, entrance } = this.#workings
    if (!tracers) return entrance.enter(keys, request)
    return tracers.acquiring(keys, async () => as(keys, await entrance.enter(keys, request)))
  }

  #run<T>(lease: AnyLease, body: Body<T>): T | Promise<T> {
    const { tracers } = this.#workings
    if (!tracers) return runInside(this, lease, body)
    return tracers.holding(lease, async () => runInside(this, lease, body))
  }

  #check(call: Call, key: Keys, options?: UsingOptions): { keys: Keys; request: Request } {
    const keys = checkKeys(key)
    const settings = settingsFor(keys, this.#settings)
    const request =
      options === undefined && settings === this.#settings
        ? (this.#plainRequests[call] ??= checkRequest(call, {}, settings))
        : checkRequest(call, options === undefined ? {} : options, settings)
    this.#assertOpen()
    return { keys, request }
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }
}

function closedError(): LockError {
  return new LockError('CLOSED', 'this Locks client was closed; make a new one with createLocks')
}
