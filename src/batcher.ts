import { inspect } from 'node:util'
import type { Connection, Settle } from './connection.ts'
import type { Environment, Timer } from './environment.ts'
import { LockError } from './errors.ts'
import type { StepName } from './monitor/steps.ts'
import type { Fault, Store } from './store.ts'

/** Bounds how long one call can keep a server, or an embedded store this thread, busy. */
const MAX_BATCH = 1000
/** So many are company enough: see `#settle`. */
const GROUP = 48
/** Calls of a group or more that may be under way at once… */
const MAX_GROUPS = 3
/** …to a store that is near: farther away, another round trip costs more than it wins. */
const NEAR_MS = 5
/** After so many times a few promise jobs, those who were told have made their next call. */
const PAUSE = 4
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
  readonly name: StepName
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
  /** When each call under way was made, oldest first. No `Set`, as in `Connection`; there are few. */
  readonly #inFlight: { readonly at: number }[] = []
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
      if (this.#inFlight.length > 0 && !this.#overtakes()) return
      this.#call(this.#take())
    }
  }

  // A call that is merely under way gathers company for the next; one that hangs must not.
  #overtakes(): boolean {
    if (this.#inFlight.length >= MAX_IN_FLIGHT) return false
    if (this.#inFlight.length < MAX_GROUPS && this.#pending.length >= GROUP && this.#isNear()) return true
    const now = this.#env.now()
    const young = this.#inFlight.filter(({ at }) => now - at < HUNG_MS)
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

  #isNear(): boolean {
    return this.#connection.latencyMs < NEAR_MS
  }

  /** The next batch: keys are unique in it, the rest stays in order. */
  #take(): Pending<I, O>[] {
    if (this.#pending.length === 1) return this.#pending.splice(0)
    const batch: Pending<I, O>[] = []
    const rest: Pending<I, O>[] = []
    const keys = new Set<string>()
    let seen = 0
    for (; seen < this.#pending.length && batch.length < MAX_BATCH; seen += 1) {
      const pending = this.#pending[seen] as Pending<I, O>
      const { key } = pending.item
      if (keys.has(key)) rest.push(pending)
      else {
        keys.add(key)
        batch.push(pending)
      }
    }
    this.#pending = rest.concat(this.#pending.slice(seen))
    // As stores lock rows: what comes in that order can be answered in that order.
    batch.sort((a, b) => (a.item.key < b.item.key ? -1 : 1))
    return batch
  }

  #call(batch: readonly Pending<I, O>[]): void {
    const call = { at: this.#env.now() }
    this.#inFlight.push(call)
    const items = batch.map((pending) => pending.item)
    this.#connection.call(
      { name: this.#step.name, keys: items.length, step: (store) => this.#step.call(store, items) },
      (answers, sentAt) => {
        this.#inFlight.splice(this.#inFlight.indexOf(call), 1)
        this.#dropSlowTimer()
        // First: the store can be busy with these while the others are told.
        if (this.#pending.length > 0) this.#flush()
        this.#settle(batch, answers, sentAt)
      },
      (answers) => this.#late(batch, answers),
    )
  }

  /**
   * In groups, with a pause between them: else a hundred tasks that lock and unlock would move in step, all of them
   * waiting for the server, and then the server for all of them. So it is busy with the first while the others are told.
   */
  #settle(
    batch: readonly Pending<I, O>[],
    answers: readonly (O | Fault)[] | LockError,
    sentAt: number,
    from = 0,
  ): void {
    const to = batch.length - from > 1.5 * GROUP && this.#isNear() ? from + GROUP : batch.length
    for (let i = from; i < to; i += 1) {
      const { item, settle } = batch[i] as Pending<I, O>
      const answer = answers instanceof LockError ? answers : this.#answer(answers, i, item)
      try {
        settle(answer, sentAt)
      } catch (error) {
        this.#connection.report(error)
      }
    }
    if (to < batch.length) this.#pause(PAUSE, () => this.#settle(batch, answers, sentAt, to))
  }

  #pause(times: number, then: () => void): void {
    this.#env.defer(() => (times > 1 ? this.#pause(times - 1, then) : then()))
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
