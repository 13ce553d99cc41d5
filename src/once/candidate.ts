import { AsyncResource } from 'node:async_hooks'
import { onAbort } from '../abort.ts'
import type { Environment, Timer } from '../environment.ts'
import { LockError } from '../errors.ts'

export type Done = () => boolean | Promise<boolean>

type Outcome = { readonly is: 'done' } | { readonly is: 'failed'; readonly error: unknown }

/** One who wants to know whether a job is done. Holds a timer and a listener until it leaves. */
export class Candidate {
  /** Takes only the word of its own `done`, asked after it came: it has the lock and is about to run. */
  readonly insists: boolean
  /** Resolves with the first word, or the end of patience. Then ask `isDone()`. */
  readonly heard: Promise<void>
  readonly #env: Environment
  /** Called when a timer or the answer of another says so, and all the same in the async context of its own caller. */
  readonly #done: Done
  readonly #stop = new AbortController()
  #hear!: () => void
  #hasHeard = false
  #firstAskedAt: number | null = null
  #outcome: Outcome | null = null
  #timer: Timer = null
  #stopListening: (() => void) | null = null

  constructor(env: Environment, done: Done, insists: boolean) {
    this.#env = env
    this.#done = AsyncResource.bind(done)
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

  /** For how long `done` has been on its way to a first answer; null if it was never called. */
  get askedForMs(): number | null {
    return this.#firstAskedAt === null ? null : this.#env.now() - this.#firstAskedAt
  }

  /** Not before the answer to the last one. */
  ask(): Promise<boolean> {
    this.#firstAskedAt ??= this.#env.now()
    return answerOf(this.#done)
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

/** Rows, counts and undefined are refused: an empty list would be true, and a forgotten `return` false. */
async function answerOf(done: Done): Promise<boolean> {
  const answer: unknown = await done()
  if (typeof answer === 'boolean') return answer
  const what = Array.isArray(answer) ? 'an array' : answer === null ? 'null' : typeof answer
  throw new LockError('INVALID_OPTION', `once: done must give true or false, or a promise of it, not ${what}`)
}
