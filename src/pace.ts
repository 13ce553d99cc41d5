import type { Environment } from './environment.ts'
import type { Settings } from './options.ts'
import type { Denial } from './store.ts'

/** Spreads the processes that wait for one lease to run out. */
const EXPIRY_JITTER_MS = 5
const MAX_COURTESY_MS = 250

/** How long a line sleeps before it asks again. Always jittered, so that processes do not march in step. */
export class Pace {
  readonly #env: Environment
  readonly #settings: () => Settings
  #tries = 0

  constructor(env: Environment, settings: () => Settings) {
    this.#env = env
    this.#settings = settings
  }

  restart(): void {
    this.#tries = 0
  }

  /** With push the poll only bounds what a lost message costs. A dead holder sends none: hence its expiry. */
  afterDenial(denial: Denial, push: boolean): number {
    const pollMs = push ? this.#jitter(this.#settings().pollMaxMs) : this.#backoff()
    return Math.min(pollMs, Math.max(1, denial.retryInMs) + this.#env.random() * EXPIRY_JITTER_MS)
  }

  afterFault(): number {
    return this.#backoff()
  }

  /** Long enough for a message to reach another waiter, or its poll to come, and its ask to reach the store. */
  courtesy(push: boolean, latencyMs: number): number {
    const { pollMinMs, pollMaxMs } = this.#settings()
    return push
      ? Math.min(Math.max(4 * latencyMs, pollMinMs), MAX_COURTESY_MS)
      : Math.min(pollMaxMs / 2, 4 * MAX_COURTESY_MS)
  }

  #backoff(): number {
    const { pollMinMs, pollMaxMs } = this.#settings()
    const ms = Math.min(pollMinMs * 2 ** this.#tries, pollMaxMs)
    this.#tries += 1
    return this.#jitter(ms)
  }

  #jitter(ms: number): number {
    return ms * (0.5 + this.#env.random() / 2)
  }
}
