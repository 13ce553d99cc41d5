import type { Environment } from './environment.ts'
import type { Settings } from './settings.ts'
import type { Denial } from './store.ts'

/** Spreads the processes that wait for one lease to run out. */
const EXPIRY_JITTER_MS = 5
const MAX_COURTESY_MS = 250

/** How long a line sleeps before it asks again. Always jittered, so that processes do not march in step. */
export class Pace {
  readonly #env: Environment
  readonly #settings: () => Settings

  constructor(env: Environment, settings: () => Settings) {
    this.#env = env
    this.#settings = settings
  }

  /** `tries`: how often it was denied or failed in a row. With push the poll only bounds what a lost message costs. A dead holder sends none: hence its expiry. */
  afterDenial(tries: number, denial: Denial, push: boolean): number {
    const pollMs = push ? this.#jitter(this.#settings().pollMaxMs) : this.#backoff(tries)
    return Math.min(pollMs, Math.max(1, denial.retryInMs) + this.#env.random() * EXPIRY_JITTER_MS)
  }

  afterFault(tries: number): number {
    return this.#backoff(tries)
  }

  /** Long enough for a message to reach another waiter, or its poll to come, and its ask to reach the store. */
  courtesy(push: boolean, latencyMs: number): number {
    const { pollMinMs, pollMaxMs } = this.#settings()
    return push
      ? Math.min(Math.max(4 * latencyMs, pollMinMs), MAX_COURTESY_MS)
      : Math.min(pollMaxMs / 2, 4 * MAX_COURTESY_MS)
  }

  #backoff(tries: number): number {
    const { pollMinMs, pollMaxMs } = this.#settings()
    return this.#jitter(Math.min(pollMinMs * 2 ** tries, pollMaxMs))
  }

  #jitter(ms: number): number {
    return ms * (0.5 + this.#env.random() / 2)
  }
}
