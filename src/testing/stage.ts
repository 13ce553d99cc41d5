import assert from 'node:assert/strict'
import { LONG_MS } from './claims.ts'
import type { Settings } from './options.ts'
import { now, sleep, until, within } from './timing.ts'
import { createLocks, type Locks } from '../locks.ts'
import type { LocksOptions } from '../options.ts'
import type { Store } from '../store.ts'

const CLEAN_UP_MS = 20_000

let stages = 0

/** What one test works on: keys of its own and fresh clients, all ended when the test is over. */
export class Stage {
  readonly settings: Settings
  readonly prefix: string
  readonly #undo: (() => unknown)[] = []

  constructor(settings: Settings) {
    this.settings = settings
    stages += 1
    this.prefix = `${settings.keyPrefix}${stages}:`
  }

  key(name = 'key'): string {
    return this.prefix + name
  }

  keys(count: number): string[] {
    return Array.from({ length: count }, (_, index) => this.key(`key-${String(index).padStart(5, '0')}`))
  }

  /** A new client, opened: the view of one more process. */
  async client(): Promise<Store> {
    const store = await this.unopened()
    await store.open()
    return store
  }

  async unopened(): Promise<Store> {
    const store = await this.settings.createStore()
    this.atEnd(() => store.close())
    return store
  }

  async pair(): Promise<[Store, Store]> {
    return [await this.client(), await this.client()]
  }

  clients(count: number): Promise<Store[]> {
    return Promise.all(Array.from({ length: count }, () => this.client()))
  }

  /**
   * What a process has: `Locks` on a client of their own. Leases outlast the test, and waits and calls
   * outlast any stall, unless the options say otherwise.
   */
  async locks(options: LocksOptions = {}, store?: Store): Promise<Locks> {
    const locks = createLocks(store ?? (await this.client()), {
      service: 'conformance',
      lease: LONG_MS,
      wait: this.settings.patienceMs,
      callTimeout: this.settings.patienceMs,
      logger: null,
      ...options,
    })
    this.atEnd(() => locks.close())
    return locks
  }

  /** Waits for a condition, as long as the options' patience lasts. */
  until<T>(what: string, ask: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    return until(what, this.settings.patienceMs, ask)
  }

  /**
   * Waits until a lease must have run out by the store's clock. `received` is when the grant was
   * received, so the lease began before it.
   */
  async outlive(received: number, leaseMs: number = this.settings.shortMs): Promise<void> {
    const end = received + leaseMs * 1.02 + this.settings.toleranceMs
    for (let left = end - now(); left > 0; left = end - now()) await sleep(left)
  }

  /**
   * Fails unless `leftMs`, just told by the store, fits a lease of `leaseMs` that was asked for no
   * earlier than `sent`.
   */
  assertLeft(leftMs: number, leaseMs: number, sent: number): void {
    const { toleranceMs } = this.settings
    const leastMs = leaseMs - (now() - sent) * 1.02 - toleranceMs
    assert.ok(leftMs <= leaseMs + toleranceMs, `${leftMs} ms left of a lease of ${leaseMs} ms`)
    assert.ok(leftMs >= leastMs, `${leftMs} ms left, it must be at least ${leastMs} ms`)
  }

  atEnd(undo: () => unknown): void {
    this.#undo.push(undo)
  }

  /** Ends everything, last first, whatever fails on the way. */
  async end(): Promise<void> {
    const errors: unknown[] = []
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await within('clean-up after the test', CLEAN_UP_MS, Promise.resolve(undo()))
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

/** Registers one test. Its function gets a stage that ends with it. */
export type Test = (name: string, run: (stage: Stage) => Promise<void>, limitMs?: number) => void
