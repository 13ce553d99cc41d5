import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import type { Journal } from './monitor/journal.ts'
import type { Store, Watch } from './store.ts'

/**
 * How a call ended. `sentAt` is the local time just before the store was called: leases are counted
 * from there, since the store cannot have started one earlier.
 */
export type Settle<T> = (result: T | LockError, sentAt: number) => void

/** The `sentAt` of a call that failed before it left: the store knows nothing of it. */
export const NEVER_SENT: number = -Infinity

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
  #loaded: Store | null = null
  #ready: Store | null = null
  #opening: Promise<Store> | null = null
  #latencyMs = 1

  constructor(source: Store | (() => Promise<Store>), env: Environment, journal: Journal, limitMs: number) {
    this.#env = env
    this.#journal = journal
    this.#limitMs = limitMs
    if (typeof source === 'function') {
      this.#load = source
    } else {
      this.#load = async () => source
      this.#retain(source)
    }
  }

  get name(): string {
    return this.#loaded?.name ?? 'lock'
  }

  /** A running mean of how long the store takes to answer. */
  get latencyMs(): number {
    return this.#latencyMs
  }

  /** `settle` runs exactly once, within the limit; `late` if an answer comes after that. */
  call<T>(step: (store: Store) => Promise<T>, settle: Settle<T>, late?: (result: T) => void): void {
    let sentAt = NEVER_SENT
    let settled = false
    const finish = (result: T | LockError): void => {
      settled = true
      this.#env.clearTimer(timer)
      if (result instanceof LockError) this.#journal.storeFailed(result)
      else this.#answered(sentAt)
      settle(result, sentAt)
    }
    const timer = this.#env.setTimer(
      this.#limitMs,
      () => {
        if (!settled) finish(this.#unavailable(`did not answer within ${this.#limitMs} ms`))
      },
      false,
    )
    const succeed = (result: T): void => (settled ? late?.(result) : finish(result))
    const fail = (error: unknown): void => {
      if (!settled) finish(this.asLockError(error))
    }
    const send = (store: Store): void => {
      // Too late: the caller has been told that nothing was sent.
      if (settled) return
      sentAt = this.#env.now()
      try {
        step(store).then(succeed, fail)
      } catch (error) {
        fail(error)
      }
    }
    if (this.#ready) send(this.#ready)
    else this.#open().then(send, fail)
  }

  /** As `call`, for those who can wait for a promise. */
  ask<T>(step: (store: Store) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.call(step, (result) => (result instanceof LockError ? reject(result) : resolve(result)))
    })
  }

  /** Null where the store has no push, or was never reached. */
  watch(onFreed: (key: string) => void): Watch | null {
    return this.#ready?.watch?.(onFreed) ?? null
  }

  /** Whatever a store threw, as the error that callers see. */
  asLockError(error: unknown): LockError {
    return error instanceof LockError ? error : this.#unavailable('failed', error)
  }

  async close(): Promise<void> {
    // Opening cannot be called off; let it end, within the limit, so that what it opened is closed.
    if (this.#opening) await this.#within(this.#opening)
    const store = this.#loaded
    this.#ready = null
    this.#loaded = null
    if (!store) return
    const clients = (clientsOf.get(store) ?? 1) - 1
    clientsOf.set(store, clients)
    if (clients === 0) await this.#within(store.close())
  }

  #open(): Promise<Store> {
    this.#opening ??= this.#openNow().finally(() => (this.#opening = null))
    return this.#opening
  }

  async #openNow(): Promise<Store> {
    const store = this.#loaded ?? (await this.#load())
    if (!this.#loaded) this.#retain(store)
    await store.open()
    this.#ready = store
    return store
  }

  #retain(store: Store): void {
    this.#loaded = store
    clientsOf.set(store, (clientsOf.get(store) ?? 0) + 1)
  }

  #answered(sentAt: number): void {
    const latencyMs = this.#env.now() - sentAt
    this.#latencyMs += (latencyMs - this.#latencyMs) / 8
    this.#journal.storeAnswered(latencyMs)
  }

  #unavailable(what: string, cause?: unknown): LockError {
    return new LockError('STORE_UNAVAILABLE', `the ${this.name} store ${what}`, { cause })
  }

  #within(work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#env.setTimer(this.#limitMs, resolve, false)
      const end = (): void => {
        this.#env.clearTimer(timer)
        resolve()
      }
      work.then(end, (error: unknown) => {
        this.#journal.fault(this.asLockError(error))
        end()
      })
    })
  }
}
