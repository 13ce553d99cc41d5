import { inspect } from 'node:util'
import type { Connection, Settle } from './connection.ts'
import type { Environment, Timer } from './environment.ts'
import { LockError } from './errors.ts'
import type { Fault, Store } from './store.ts'

/** Bounds how long one call can keep a server, or an embedded store this thread, busy. */
const MAX_BATCH = 1000
/** Of so many that come at once, half goes first: see `#take`. */
const CROWD = 80
/** From a store that is farther away, a second round trip would cost more than it wins. */
const NEAR_MS = 5
/** A call this old no longer holds back those behind it… */
const SLOW_MS = 20
/** …of which there may be this many at once… */
const MAX_SLOW = 4
/** …not counting those this old, which nobody expects any more: else a lost reply stops all until its limit. */
const HUNG_MS = 200
const MAX_IN_FLIGHT = 64

interface Pending<I, O> {
  readonly item: I
  readonly settle: Settle<O>
}

export interface Step<I, O> {
  readonly call: (store: Store, items: readonly I[]) => Promise<readonly (O | Fault)[]>
  /** Whether an answer can be trusted; a store may be anyone's code. */
  readonly isAnswer: (answer: O) => boolean
  /** An answer that came after its caller was told that it is unknown. */
  readonly late?: (item: I, answer: O) => void
}

/**
 * Many calls, one round trip: gathers the calls of a tick, and those that come while a call is under
 * way, into one call of the store. Every item is settled exactly once, whatever its neighbours get.
 */
export class Batcher<I extends { readonly key: string }, O extends object> {
  readonly #env: Environment
  readonly #connection: Connection
  readonly #step: Step<I, O>
  #pending: Pending<I, O>[] = []
  #flushing = false
  /** Whether the call before took half of what there was. */
  #halved = false
  /** When each call under way was made, oldest first. */
  readonly #inFlight = new Set<{ readonly at: number }>()
  #slowTimer: Timer = null

  constructor(env: Environment, connection: Connection, step: Step<I, O>) {
    this.#env = env
    this.#connection = connection
    this.#step = step
  }

  submit(item: I, settle: Settle<O>): void {
    this.#pending.push({ item, settle })
    this.#flushSoon()
  }

  #flushSoon(): void {
    if (this.#flushing) return
    this.#flushing = true
    this.#env.defer(() => this.#flush())
  }

  #flush(): void {
    this.#flushing = false
    while (this.#pending.length > 0) {
      if (this.#inFlight.size > 0 && !this.#overtakes()) return
      this.#call(this.#take())
    }
  }

  // A call that is merely under way gathers company for the next; one that hangs must not.
  #overtakes(): boolean {
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return false
    const now = this.#env.now()
    const young = [...this.#inFlight].filter(({ at }) => now - at < HUNG_MS)
    const afterNewest = (young.at(-1)?.at ?? -Infinity) + SLOW_MS - now
    const afterOldest = young.length < MAX_SLOW ? 0 : (young[0]?.at ?? now) + HUNG_MS - now
    const waitMs = Math.max(afterNewest, afterOldest)
    if (waitMs <= 0) return true
    this.#slowTimer ??= this.#env.setTimer(
      waitMs,
      () => {
        this.#slowTimer = null
        this.#flush()
      },
      true,
    )
    return false
  }

  /**
   * The next batch: keys are unique in it, the rest stays in order.
   *
   * All in one call, a hundred tasks that lock and unlock would move in step: all wait for the server, then the server
   * waits for all of them. In two halves, one after the other, one is served while the other half asks.
   */
  #take(): Pending<I, O>[] {
    const count = this.#pending.length
    this.#halved = !this.#halved && count >= CROWD && this.#connection.latencyMs < NEAR_MS
    const size = Math.min(MAX_BATCH, this.#halved ? count >> 1 : count)
    const batch: Pending<I, O>[] = []
    const rest: Pending<I, O>[] = []
    const keys = new Set<string>()
    for (const pending of this.#pending) {
      const { key } = pending.item
      if (batch.length === size || keys.has(key)) rest.push(pending)
      else {
        keys.add(key)
        batch.push(pending)
      }
    }
    this.#pending = rest
    // As stores lock rows: what comes in that order can be answered in that order.
    batch.sort((a, b) => (a.item.key < b.item.key ? -1 : 1))
    return batch
  }

  #call(batch: readonly Pending<I, O>[]): void {
    const call = { at: this.#env.now() }
    this.#inFlight.add(call)
    const items = batch.map((pending) => pending.item)
    this.#connection.call(
      (store) => this.#step.call(store, items),
      (answers, sentAt) => {
        this.#inFlight.delete(call)
        this.#dropSlowTimer()
        // First: the store can be busy with these while the others are told.
        if (this.#pending.length > 0) this.#flush()
        batch.forEach(({ item, settle }, i) => {
          const answer = answers instanceof LockError ? answers : this.#answer(answers, i, item)
          try {
            settle(answer, sentAt)
          } catch (error) {
            this.#connection.report(error)
          }
        })
      },
      (answers) => this.#late(batch, answers),
    )
  }

  #answer(answers: readonly (O | Fault)[], i: number, item: I): O | LockError {
    const answer = Array.isArray(answers) ? (answers as readonly (O | Fault)[])[i] : undefined
    if (typeof answer !== 'object' || answer === null) {
      return this.#connection.asLockError(new Error(`no answer for "${item.key}"`))
    }
    if ('error' in answer) return this.#connection.asLockError(answer.error)
    if (this.#step.isAnswer(answer)) return answer
    return this.#connection.asLockError(new Error(`a wrong answer for "${item.key}": ${inspect(answer)}`))
  }

  #late(batch: readonly Pending<I, O>[], answers: readonly (O | Fault)[]): void {
    if (!this.#step.late) return
    batch.forEach(({ item }, i) => {
      const answer = this.#answer(answers, i, item)
      if (!(answer instanceof LockError)) this.#step.late?.(item, answer)
    })
  }

  #dropSlowTimer(): void {
    if (this.#slowTimer !== null) this.#env.clearTimer(this.#slowTimer)
    this.#slowTimer = null
  }
}
