import type { Environment } from '../environment.ts'
import type { Locks } from '../locks.ts'
import { TOKENS_PER_GRANT } from '../token.ts'

/** A pace that lasts as long is the new one: the clock was set, and goes on from there. */
const STEADY_MS = 60_000
/** What a slow store or a busy event loop may do to one sample. */
const NOISE_MS = 1000
/** On a key that only goes from hand to hand in this process: then the next look tries again. */
const MOST_HANDOFFS = 10

/**
 * Whether tokens go on as time does. A grant is the store's clock in µs, or one more than the last of its key if that
 * clock has gone back; so grant less local time is the same for all, unless the store's clock jumps or stands still.
 * Samples one grant for each look: to listen all the time would cost every grant something.
 */
export class TokenProgress {
  readonly #locks: Locks
  readonly #env: Environment
  #off: (() => void) | null = null
  /** Where the store's clock was in relation to ours, in ms. */
  #base: number | null = null
  #last = { at: 0, offset: 0 }
  #steadySince: number | null = null

  constructor(locks: Locks, env: Environment) {
    this.#locks = locks
    this.#env = env
  }

  /** Above 0 tokens are ahead, below behind. */
  get deviationMs(): number {
    return this.#base === null ? 0 : this.#last.offset - this.#base
  }

  /** Waits for the next grant. */
  sample(): void {
    if (this.#off) return
    let handOffs = 0
    this.#off = this.#locks.on('granted', ({ token, handedOff }) => {
      // It has the number of a grant that is some time ago.
      if (!handedOff) this.#take(Number(token / BigInt(TOKENS_PER_GRANT)) / 1000)
      else if ((handOffs += 1) < MOST_HANDOFFS) return
      this.stop()
    })
  }

  stop(): void {
    this.#off?.()
    this.#off = null
  }

  #take(clockMs: number): void {
    const now = this.#env.now()
    const offset = clockMs - now
    const elapsed = now - this.#last.at
    const step = Math.abs(offset - this.#last.offset)
    this.#base ??= offset
    // Half of the time: one that stands still falls behind by all of it.
    if (step > Math.min(NOISE_MS, elapsed / 2)) this.#steadySince = null
    else this.#steadySince ??= this.#last.at
    if (this.#steadySince !== null && now - this.#steadySince >= STEADY_MS) this.#base = offset
    this.#last = { at: now, offset }
  }
}
