import { onAbort } from './abort.ts'
import type { Contention } from './contention.ts'
import { type Environment, keepAwake, type Timer } from './environment.ts'
import { LockError } from './errors.ts'
import type { Linked } from './fifo.ts'
import type { KeyLease } from './key-lease.ts'
import type { Request } from './options.ts'

/** Where a waiter waits. When its time is up or its signal fires, it is for the queue to let it go. */
export interface Queue {
  gaveUp(waiter: Waiter, why: 'timeout' | 'abort'): void
}

/** One caller in a queue. Holds a timer and a listener for exactly as long as it waits. */
export class Waiter implements Linked<Waiter> {
  next: Waiter | null = null
  previous: Waiter | null = null
  readonly request: Request
  readonly promise: Promise<KeyLease | Contention>
  /** Whether it has been reported that this waiter met another holder. */
  conflicted = false
  /** Whether it has been counted among those that met a holder. */
  met = false
  readonly #env: Environment
  readonly #since: number
  #stopListening: (() => void) | null = null
  #timer: Timer = null
  /** Instead of the timer, where the wait has no end. */
  #letSleep: (() => void) | null = null
  #waiting = true
  #resolve!: (outcome: KeyLease | Contention) => void
  #reject!: (error: LockError) => void

  constructor(env: Environment, request: Request) {
    this.#env = env
    this.request = request
    this.#since = env.now()
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** It is in that queue now. A signal that is aborted already takes it out again at once. */
  wait(queue: Queue): void {
    const { oneTry, waitMs, signal } = this.request
    if (waitMs === Infinity) {
      if (!oneTry) this.#letSleep = keepAwake(this.#env)
    } else if (waitMs > 0 || !oneTry) {
      // One try without any wait ends with its answer, not with a timer.
      this.#timer = this.#env.setTimer(waitMs, () => queue.gaveUp(this, 'timeout'), false)
    }
    this.#stopListening = signal ? onAbort(signal, () => queue.gaveUp(this, 'abort')) : null
  }

  get waiting(): boolean {
    return this.#waiting
  }

  get waitedMs(): number {
    return this.#env.now() - this.#since
  }

  /** Each of these is called once, by whoever took the waiter out of its queue. */
  give(lease: KeyLease): void {
    this.#end()
    this.#resolve(lease)
  }

  refuse(contention: Contention): void {
    this.#end()
    this.#resolve(contention)
  }

  fail(error: LockError): void {
    this.#end()
    this.#reject(error)
  }

  #end(): void {
    this.#waiting = false
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#timer = null
    this.#letSleep?.()
    this.#stopListening?.()
  }
}

export function aborted(key: string, signal: AbortSignal | null): LockError {
  return new LockError('LOCK_ABORTED', `gave up waiting for "${key}": the signal was aborted`, {
    key,
    cause: signal?.reason,
  })
}
