import { AsyncResource } from 'node:async_hooks'
import { onAbort } from '../abort.ts'
import type { Environment, Timer } from '../environment.ts'

export type Done = () => boolean | Promise<boolean>

type Outcome = { readonly is: 'done' } | { readonly is: 'failed'; readonly error: unknown }

/** One who wants to know whether a job is done. Holds a timer and a listener until it leaves. */
export class Candidate {
  /** Called by whoever's turn it is to ask, and all the same in the async context of its own caller. */
  readonly done: Done
  /** Takes only the word of its own `done`, asked after it came: it has the lock and is about to run. */
  readonly insists: boolean
  /** Resolves with the first word, or the end of patience. Then ask `isDone()`. */
  readonly heard: Promise<void>
  readonly #env: Environment
  readonly #stop = new AbortController()
  #hear!: () => void
  #hasHeard = false
  #outcome: Outcome | null = null
  #timer: Timer = null
  #stopListening: (() => void) | null = null

  constructor(env: Environment, done: Done, insists: boolean) {
    this.#env = env
    this.done = AsyncResource.bind(done)
    this.insists = insists
    this.heard = new Promise((resolve) => (this.#hear = resolve))
  }

  get hasHeard(): boolean {
    return this.#hasHeard
  }

  get hasEnded(): boolean {
    return this.#outcome !== null
  }

  /** Aborts when there is nothing left to wait for. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Whether it was told so. Throws what went wrong, if something did. */
  isDone(): boolean {
    if (this.#outcome?.is === 'failed') throw this.#outcome.error
    return this.#outcome !== null
  }

  /** Ends its patience with the first word after `ms`, unless that came before. */
  limit(ms: number, error: () => Error): void {
    if (ms !== Infinity) this.#timer = this.#env.setTimer(ms, () => this.fail(error()), false)
  }

  heed(signal: AbortSignal, error: () => unknown): void {
    this.#stopListening = onAbort(signal, () => this.fail(error()))
  }

  tell(isDone: boolean): void {
    if (isDone) this.#end({ is: 'done' })
    else this.#note()
  }

  fail(error: unknown): void {
    this.#end({ is: 'failed', error })
  }

  leave(): void {
    this.#clearLimit()
    this.#stopListening?.()
    this.#stopListening = null
  }

  #end(outcome: Outcome): void {
    this.#outcome ??= outcome
    this.#note()
    this.#stop.abort()
  }

  #note(): void {
    this.#hasHeard = true
    this.#clearLimit()
    this.#hear()
  }

  #clearLimit(): void {
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#timer = null
  }
}
