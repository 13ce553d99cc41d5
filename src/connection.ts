import type { Environment, Timer } from './environment.ts'
import { LockError } from './errors.ts'
import type { Journal } from './monitor/journal.ts'
import { runApart, runOutside } from './section.ts'
import { poolOf } from './monitor/pool.ts'
import type { StepName, StoreCall } from './monitor/steps.ts'
import type { Pool, Store, Watch } from './store.ts'

/**
 * How a call ended. `sentAt` is the local time just before the store was called: leases are counted
 * from there, since the store cannot have started one earlier.
 */
export type Settle<T> = (result: T | LockError, sentAt: number) => void

/** The `sentAt` of a call that failed before it left: the store knows nothing of it. */
export const NEVER_SENT: number = -Infinity

/** A store that is yet to be made, such as one named by a URL. */
export interface StoreLoader {
  readonly name: string
  load(): Promise<Store>
}

// A store given to several clients is closed by the last of them.
const clientsOf = new WeakMap<Store, number>()

/**
 * The store as core sees it: opened on first use, every call answered within the limit, every fault a
 * LockError. A call that runs past the limit is *unknown*: it may have happened, or may happen yet.
 */
export class Connection {
  readonly #env: Environment
  readonly #journal: Journal
  readonly #limitMs: number
  readonly #load: () => Promise<Store>
  #name: string
  #loaded: Store | null = null
  #ready: Store | null = null
  #loading: Promise<Store> | null = null
  #opening: Promise<Store> | null = null
  #closed = false
  /**
   * Ends each call under way; nothing of it may be left after `close`. No `Set`, see `KeyMap`: one that is used for long
   * kept every third batch alive.
   */
  readonly #underWay: ((error: LockError) => void)[] = []
  #latencyMs = 1

  constructor(source: Store | StoreLoader, env: Environment, journal: Journal, limitMs: number) {
    this.#env = env
    this.#journal = journal
    this.#limitMs = limitMs
    if ('load' in source) {
      this.#name = source.name
      this.#load = () => source.load()
    } else {
      this.#name = source.name
      this.#load = async () => source
      this.#retain(source)
    }
  }

  get name(): string {
    return this.#name
  }

  /** A running mean of how long the store takes to answer. */
  get latencyMs(): number {
    return this.#latencyMs
  }

  get pool(): Pool | null {
    return poolOf(this.#loaded)
  }

  /** `settle` runs exactly once, within the limit; `late` if an answer comes after that. */
  call<T>({ name, keys, step }: StoreCall<T>, settle: Settle<T>, late?: (result: T) => void): void {
    if (this.#closed) return this.#env.defer(() => settle(closedDuringCall(), NEVER_SENT))
    const madeAt = this.#env.now()
    let sentAt = NEVER_SENT
    let settled = false
    let opening: Promise<Store> | null = null
    let timer: Timer = null
    const finish = (result: T | LockError): void => {
      settled = true
      this.#underWay.splice(this.#underWay.indexOf(finish), 1)
      this.#env.clearTimer(timer)
      try {
        const tookMs = this.#env.now() - (sentAt === NEVER_SENT ? madeAt : sentAt)
        if (!(result instanceof LockError)) this.#answered(name, keys, tookMs)
        else if (!this.#closed) this.#journal.storeFailed(name, keys, tookMs, result)
      } finally {
        settle(result, sentAt)
      }
    }
    this.#underWay.push(finish)
    const succeed = (result: T): void => (settled ? late?.(result) : finish(result))
    const fail = (error: unknown): void => {
      if (!settled) finish(this.asLockError(error))
    }
    const send = (store: Store): void => {
      // Too late: the caller has been told that nothing was sent.
      if (settled) return
      sentAt = this.#env.now()
      try {
        // A driver may keep the context it was called in for as long as a connection lives.
        runOutside(() => step(store)).then(succeed, fail)
      } catch (error) {
        fail(error)
      }
    }
    const limit = (): void => {
      // An opening that hangs would hold up every call from now on; the next one tries anew.
      if (this.#opening === opening) this.#opening = null
      if (!settled) finish(this.#unavailable(`did not answer within ${this.#limitMs} ms`))
    }
    if (this.#ready) send(this.#ready)
    else {
      opening = this.#open()
      opening.then(send, fail)
    }
    // After what is sent: the server need not wait for a timer to be made.
    if (!settled) timer = this.#env.setTimer(this.#limitMs, limit, false)
  }

  /** As `call`, for those who can wait for a promise. */
  ask<T>(call: StoreCall<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.call(call, (result) => (result instanceof LockError ? reject(result) : resolve(result)))
    })
  }

  /** Null where the store has no push, or was never reached. */
  watch(onFreed: (key: string) => void): Watch | null {
    const store = this.#ready
    if (!store?.watch) return null
    try {
      const watch = runApart(() => store.watch?.(onFreed))
      if (!watch) return null
      return {
        // Push is a help, never a condition: if it breaks, the poll behind it goes on.
        add: (key) => this.#guard(() => watch.add(key)),
        delete: (key) => this.#guard(() => watch.delete(key)),
        close: () => this.#within(() => watch.close()),
      }
    } catch (error) {
      this.report(error)
      return null
    }
  }

  /** Whatever a store threw, as the error that callers see. */
  asLockError(error: unknown): LockError {
    return error instanceof LockError ? error : this.#unavailable('failed', error)
  }

  /** An error that nobody waits for. */
  report(error: unknown): void {
    this.#journal.fault(this.asLockError(error))
  }

  async close(): Promise<void> {
    this.#closed = true
    for (let end = this.#underWay[0]; end; end = this.#underWay[0]) end(closedDuringCall())
    // Opening cannot be called off. Let it end, within the limit; past that it closes what it opened.
    if (this.#opening) await this.#within(() => this.#opening)
    this.#ready = null
    if (this.#loaded) await this.#within(() => this.#release())
  }

  #open(): Promise<Store> {
    if (this.#opening) return this.#opening
    const opening = runApart(() => this.#openNow())
    const ended = (): void => {
      if (this.#opening === opening) this.#opening = null
    }
    opening.then(ended, ended)
    return (this.#opening = opening)
  }

  async #openNow(): Promise<Store> {
    const store = this.#loaded ?? (await this.#loadOnce())
    await store.open()
    if (!this.#closed) this.#ready = store
    else if (!clientsOf.get(store)) await store.close()
    return store
  }

  #loadOnce(): Promise<Store> {
    this.#loading ??= this.#load().then(
      (store) => {
        if (!this.#closed) this.#retain(store)
        return store
      },
      (error: unknown) => {
        this.#loading = null
        throw error
      },
    )
    return this.#loading
  }

  #retain(store: Store): void {
    this.#loaded = store
    this.#name = store.name
    clientsOf.set(store, (clientsOf.get(store) ?? 0) + 1)
  }

  async #release(): Promise<void> {
    const store = this.#loaded
    this.#loaded = null
    if (!store) return
    const clients = (clientsOf.get(store) ?? 1) - 1
    clientsOf.set(store, clients)
    if (clients === 0) await store.close()
  }

  #answered(name: StepName, keys: number, tookMs: number): void {
    this.#latencyMs += (tookMs - this.#latencyMs) / 8
    this.#journal.storeAnswered(name, keys, tookMs)
  }

  #unavailable(what: string, cause?: unknown): LockError {
    return new LockError('STORE_UNAVAILABLE', `the ${this.name} store ${what}`, { cause })
  }

  #guard(work: () => void): void {
    try {
      runOutside(work)
    } catch (error) {
      this.report(error)
    }
  }

  async #within(work: () => Promise<unknown> | null): Promise<void> {
    let timer: Timer = null
    const limit = new Promise<void>((resolve) => {
      timer = this.#env.setTimer(this.#limitMs, resolve, false)
    })
    try {
      await Promise.race([work(), limit])
    } catch (error) {
      this.report(error)
    } finally {
      this.#env.clearTimer(timer)
    }
  }
}

function closedDuringCall(): LockError {
  return new LockError('CLOSED', 'the client was closed before the store answered')
}
