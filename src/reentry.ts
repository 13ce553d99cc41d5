import { LockError } from './errors.ts'
import { Fifo } from './fifo.ts'
import type { Lease } from './lease.ts'
import type { Request } from './options.ts'
import { aborted, Contention, type Queue, Waiter } from './waiter.ts'

const SIBLING = 'another call inside the same section, perhaps by the very flow that waits here'

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
      return Promise.resolve(new Contention(0, SIBLING))
    }
    const waiter = new Waiter(env, request, this)
    this.#siblings.push(waiter)
    return waiter.promise
  }

  gaveUp(waiter: Waiter, why: 'timeout' | 'abort'): void {
    if (!waiter.waiting) return
    const { journal, key } = this.#outer
    const { waitedMs } = waiter
    this.#siblings.delete(waiter)
    if (why === 'abort') {
      journal.stats.counters.aborted += 1
      waiter.fail(aborted(key, waiter.request.signal))
    } else {
      waiter.refuse(new Contention(waitedMs, SIBLING))
      journal.timedOut(key, waitedMs, null)
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
    // First of all nobody may be let in any more: what is told below may release in reply.
    const nested = this.#nested
    this.#nested = null
    this.#turnAway(reason, 'failed')
    nested?.lose(reason)
  }

  notify(reason: LockError): void {
    this.#turnAway(reason, 'aborted')
    this.#nested?.notify(reason)
  }

  #turnAway(reason: LockError, counter: 'failed' | 'aborted'): void {
    for (let next = this.#siblings.first; next; next = this.#siblings.first) {
      this.#siblings.delete(next)
      this.#outer.journal.stats.counters[counter] += 1
      next.fail(reason)
    }
  }

  #admit(): Lease {
    this.#nested = this.#outer.nest()
    return this.#nested
  }
}
