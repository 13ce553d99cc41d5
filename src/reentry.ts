import { Contention } from './contention.ts'
import { LockError } from './errors.ts'
import { Fifo } from './fifo.ts'
import type { KeyLease } from './key-lease.ts'
import type { Request } from './options.ts'
import { aborted, type Queue, Waiter } from './waiter.ts'

const SIBLING = 'another call inside the same section, perhaps by the very flow that waits here'

/**
 * One level of re-entry. A lease admits one nested lease at a time: the same flow of calls enters at
 * once, while siblings started side by side queue for each other, as they would without the outer one.
 */
export class Level implements Queue {
  readonly #outer: KeyLease
  readonly #siblings = new Fifo<Waiter>()
  #nested: KeyLease | null = null

  constructor(outer: KeyLease) {
    this.#outer = outer
  }

  enter(request: Request): Promise<KeyLease | Contention> {
    const { env, journal, key } = this.#outer
    if (!this.#nested) return Promise.resolve(this.#admit())
    if (request.oneTry) {
      const contention = new Contention(key, 0, null, SIBLING)
      if (!request.isPart) journal.timedOut(contention)
      return Promise.resolve(contention)
    }
    const waiter = new Waiter(env, request)
    this.#siblings.push(waiter)
    waiter.wait(this)
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
      const contention = new Contention(key, waiter.request.beforeMs + waitedMs, null, SIBLING)
      waiter.refuse(contention)
      journal.timedOut(contention)
    }
  }

  /** The nested lease was released: the next sibling's turn. */
  left(nested: KeyLease): void {
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

  #admit(): KeyLease {
    this.#nested = this.#outer.nest()
    return this.#nested
  }
}
