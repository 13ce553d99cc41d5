import { Fifo } from './fifo.ts'
import type { Journal } from './monitor/journal.ts'
import { comesBack } from './options.ts'
import type { Waiter } from './waiter.ts'

/** How many keys are held, and how many wait for one, in all lines of a client. */
export interface Crowd {
  held: number
  waiting: number
}

interface WaitersKeeping {
  readonly journal: Journal
  readonly crowd: Crowd
}

/** Those who wait for one key, in order, and counted: each that meets a holder is counted once, with the first it meets. */
export class Waiters {
  // Not by `extends`, which makes a new one ten times as dear.
  readonly #queue = new Fifo<Waiter>()
  readonly #keeping: WaitersKeeping
  readonly #key: string
  /** How many of them have met no holder yet. */
  #unmet = 0

  constructor(keeping: WaitersKeeping, key: string) {
    this.#keeping = keeping
    this.#key = key
  }

  get first(): Waiter | null {
    return this.#queue.first
  }

  get size(): number {
    return this.#queue.size
  }

  /** `meets`: whether it meets a holder here, which is then one of this service or, with null, of this process. */
  add(waiter: Waiter, meets: boolean, holder: string | null): void {
    this.#queue.push(waiter)
    this.#keeping.crowd.waiting += 1
    if (meets) {
      waiter.met = true
      this.#keeping.journal.conflicted(this.#key, holder, 1)
    } else if (comesBack(waiter.request)) {
      // It counts when it does.
      waiter.met = true
    } else {
      this.#unmet += 1
    }
  }

  /** How long it has waited. */
  letGo(waiter: Waiter): number {
    const { waitedMs } = waiter
    this.#queue.delete(waiter)
    this.#keeping.crowd.waiting -= 1
    if (!waiter.met) this.#unmet -= 1
    else if (!waiter.request.isPart) this.#keeping.journal.stats.busyKeys.waited(this.#key, waitedMs)
    return waitedMs
  }

  /** All of them meet such a holder now. Those that did before are not looked at, unless one did not. */
  meet(holder: string | null): void {
    if (this.#unmet === 0) return
    for (let waiter = this.#queue.first; waiter; waiter = waiter.next) waiter.met = true
    this.#keeping.journal.conflicted(this.#key, holder, this.#unmet)
    this.#unmet = 0
  }
}
