import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../../src/errors.ts'
import type { Locks, LockStats } from '../../../src/index.ts'
import { mergeStats } from '../../../src/monitor/merge-stats.ts'
import { type Account, countUnmatched, readBooks } from '../books.ts'
import type { Database } from '../database.ts'
import type { Fleet } from '../fleet.ts'
import type { Instance } from '../instance.ts'
import type { Usage } from '../messages.ts'
import { stockUp } from '../schema.ts'
import type { Traffic } from '../traffic.ts'
import type { Tone } from './piece.ts'

export const CODES: readonly string[] = ['SKU-1', 'SKU-2', 'SKU-3']
export const START_STOCK = 10_000
export const LEASE_MS = 3000
/** An order's time under the lock is short: whoever looks for a holder finds one within this. */
const SEARCH_MS = 10_000

export interface Snapshot {
  readonly locksOn: boolean
  readonly orders: number
  readonly stats: LockStats
  readonly accounts: readonly Account[]
  readonly unmatched: number
  readonly instances: readonly { readonly name: string; readonly state: string }[]
  readonly holders: readonly {
    readonly key: string
    readonly instance: string
    readonly context: string | null
    readonly heldMs: number
    readonly remainingMs: number
    readonly wanted: boolean
  }[]
}

export type Tell = (line: string, tone?: Tone) => void

interface ShopParts {
  readonly fleet: Fleet
  readonly database: Database
  readonly traffic: Traffic
  /** A client of its own, which only looks. */
  readonly locks: Locks
  readonly tell: Tell
  /** Ends what is going on. */
  readonly quit: AbortSignal
}

export type Action = 'kill' | 'pause' | 'locks'

/** The running shop, and what a visitor can do to it. One thing at a time. */
export class Shop {
  readonly #parts: ShopParts
  #busy: Promise<void> | null = null
  #ended = false

  constructor(parts: ShopParts) {
    this.#parts = parts
  }

  async look(): Promise<Snapshot> {
    const { fleet, database, traffic, locks } = this.#parts
    const { business, storage } = traffic.tally.byService
    const page = await locks.list()
    return {
      locksOn: fleet.keeping === 'locks',
      orders: business + storage,
      stats: await this.stats(),
      accounts: await readBooks(database),
      unmatched: await countUnmatched(database),
      instances: fleet.instances.map(({ name, paused, url, alive }) => ({
        name,
        state: !alive ? 'gone' : paused ? 'paused' : url === null ? 'starting' : 'serving',
      })),
      holders: page.locks.map(({ key, holder, leaseMs, remainingMs, wanted }) => ({
        key,
        instance: holder.instance,
        context: holder.context,
        heldMs: Math.max(0, leaseMs - remainingMs),
        remainingMs,
        wanted,
      })),
    }
  }

  /** Of all processes together. */
  async stats(): Promise<LockStats> {
    const usages = await Promise.all(this.#parts.fleet.serving.map((instance) => instance.usage()))
    return mergeStats(usages.filter((usage): usage is Usage => usage !== null).map(({ stats }) => stats))
  }

  /** False if something else is still going on. */
  do(action: Action): boolean {
    if (this.#busy || this.#ended) return false
    const actions = { kill: () => this.kill(), pause: () => this.pause(), locks: () => this.toggleLocks() }
    this.#busy = actions[action]()
      .catch((error: unknown) => {
        if (!this.#parts.quit.aborted) this.#parts.tell(`that did not work: ${describeError(error)}`, 'bad')
      })
      .finally(() => {
        this.#busy = null
      })
    return true
  }

  async kill(): Promise<void> {
    const { fleet, tell } = this.#parts
    const { holder, key } = await this.#holder()
    const successor = fleet.replace(holder)
    // Awaited below, unless the demonstration ends before.
    successor.catch(() => undefined)
    tell(`${holder.name} was killed with SIGKILL while it held ${key}; its lease keeps others out for now`)
    await this.#passedOn(key, holder)
    const { name, pid } = await successor
    tell(`${name} (pid ${pid}) takes the place of ${holder.name}`)
  }

  /** As a virtual machine that is moved, or a long garbage collection. */
  async pause(): Promise<void> {
    const { tell, quit } = this.#parts
    const { holder } = await this.#holder()
    const lostBefore = (await holder.usage())?.stats.lost ?? 0
    const limit = sleep(SEARCH_MS, null, { signal: quit, ref: false })
    const code = await Promise.race([holder.pauseAsHolder(), limit])
    if (code === null) throw new Error(`${holder.name} holds nothing`)
    const key = `stock:${code}`
    tell(`${holder.name} was paused with SIGSTOP while it held ${key}, for longer than its lease`)
    try {
      await this.#passedOn(key, holder)
    } finally {
      holder.resume()
    }
    const until = performance.now() + SEARCH_MS
    let lost = 0
    while (lost === 0 && performance.now() < until) {
      await this.#rest(50)
      lost = ((await holder.usage())?.stats.lost ?? lostBefore) - lostBefore
    }
    if (lost === 0) throw new Error(`${holder.name} did not notice that it had lost ${key}`)
    tell(`${holder.name} goes on, knows that it is late, and stores nothing of its old order`, 'good')
  }

  async toggleLocks(): Promise<void> {
    const { fleet, database, locks, tell } = this.#parts
    if (fleet.keeping === 'locks') {
      fleet.keep('none')
      tell('the locks are OFF: see the books go wrong', 'bad')
      return
    }
    fleet.keep('locks')
    // Orders that began without a lock must be over before there are new books.
    await this.#rest(1500)
    const keys = CODES.map((code) => `stock:${code}`)
    await locks.using(keys, { wait: '10s', context: 'new books' }, () =>
      stockUp(database, CODES, START_STOCK),
    )
    tell('the locks are on again, with new books', 'good')
  }

  /** Waits for what is going on. */
  async end(): Promise<void> {
    this.#ended = true
    await this.#busy
  }

  /** A process that has a lock just now and has not written yet. */
  async #holder(): Promise<{ holder: Instance; key: string }> {
    const { fleet } = this.#parts
    if (fleet.keeping !== 'locks') throw new Error('the locks are off, so nobody holds one')
    const until = performance.now() + SEARCH_MS
    while (performance.now() < until) {
      for (const holder of fleet.serving) {
        if (holder.thinkingOf !== null && !holder.paused) return { holder, key: `stock:${holder.thinkingOf}` }
      }
      await this.#rest(5)
    }
    throw new Error('nobody holds a lock')
  }

  async #passedOn(key: string, from: Instance): Promise<void> {
    const { locks, tell } = this.#parts
    const began = performance.now()
    while (performance.now() - began < 3 * LEASE_MS) {
      const record = await locks.inspect(key)
      if (record && record.holder.instance !== from.name) {
        const after = ((performance.now() - began) / 1000).toFixed(1)
        tell(`${record.holder.instance} took ${key} over ${after} s later, with a higher token`, 'good')
        return
      }
      await this.#rest(10)
    }
    throw new Error(`nobody took ${key} over`)
  }

  #rest(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#parts.quit })
  }
}
