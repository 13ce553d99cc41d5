import type { Environment } from '../environment.ts'
import type { Locks } from '../locks.ts'
import type { Health } from '../records.ts'

/** Whoever asks how the store is, and how many of them: it is asked no more often than this. */
const SHARED_MS = 1000

export class StoreHealth {
  readonly #locks: Locks
  readonly #env: Environment
  #asking: Promise<Health> | null = null
  #last: { readonly health: Health; readonly at: number } | null = null

  constructor(locks: Locks, env: Environment) {
    this.#locks = locks
    this.#env = env
  }

  /** Never rejects, and takes at most as long as one store call may. */
  async ask(): Promise<Health> {
    if (this.#last && this.#env.now() - this.#last.at < SHARED_MS) return this.#last.health
    this.#asking ??= this.#ask()
    return this.#asking
  }

  async #ask(): Promise<Health> {
    const health = await this.#locks.health()
    this.#last = { health, at: this.#env.now() }
    this.#asking = null
    return health
  }
}
