import { LockError } from './errors.ts'
import { Fifo } from './fifo.ts'
import type { Lease } from './lease.ts'
import type { Request } from './options.ts'
import { aborted, Contention, type Queue, Waiter } from './waiter.ts'

/**
 * One level of re-entry. A lease admits one nested lease at a time: the same flow of calls enters at
 * once, while siblings started side by side queue for each other, as they would without the outer one.
 */
export class Level implements Queue {
  readonly #outer: Lease
  readonly #siblings = new Fifo<Waiter>()
  #nested: Lease | null = null

  constructor(outer: Lease) {
    this.#outer = outer
  }

  enter(request: Request): Promise<Lease | Contention> {
    const { env, journal, key } = this.#outer
    if (!this.#nested) return Promise.resolve(this.#admit())
    if (request.waitMs === 0) {
      journal.timedOut(key, 0, null)
      return Promise.resolve(new Contention(0, null))
    }
    const waiter = new Waiter(env, request, this)
    this.#siblings.push(waiter)
    return waiter.promise
  }

  gaveUp(waiter: Waiter, why: 'timeout' | 'abort'): void {
    const { journal, key } = this.#outer
    this.#siblings.delete(waiter)
    if (why === 'abort') {
      journal.stats.counters.aborted += 1
      waiter.fail(aborted(key, waiter.request.signal))
    } else {
      journal.timedOut(key, waiter.waitedMs, null)
      waiter.refuse(new Contention(waiter.waitedMs, null))
    }
  }

  /** The nested lease was released: the next sibling's turn. */
  left(nested: Lease): void {
    if (this.#nested !== nested) return
    this.#nested = null
    const next = this.#siblings.first
    if (!next) return
    this.#siblings.delete(next)
    next.give(this.#admit())
  }

  /** The outer lease is over or lost, and with it everything inside. */
  end(reason: LockError): void {
    this.#nested?.lose(reason)
    this.#nested = null
    this.#turnAway(reason)
  }

  notify(reason: LockError): void {
    this.#nested?.notify(reason)
    this.#turnAway(reason)
  }

  #turnAway(reason: LockError): void {
    for (let next = this.#siblings.first; next; next = this.#siblings.first) {
      this.#siblings.delete(next)
      this.#outer.journal.stats.counters.failed += 1
      next.fail(reason)
    }
  }

  #admit(): Lease {
    this.#nested = this.#outer.nest()
    return this.#nested
  }
}
