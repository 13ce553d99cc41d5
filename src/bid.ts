import type { Claim } from './store.ts'

/**
 * One owner id: asked under until it is granted, then held under. It is kept over failed asks, so that
 * a lost reply and its retry come to one grant; and it remembers the calls whose outcome is unknown,
 * which may have left the key taken, or may yet arrive and take it.
 */
export class Bid {
  readonly claim: Claim
  #strays = 0
  #longestMs = 0

  constructor(claim: Claim) {
    this.claim = claim
  }

  /** A call that may leave the key taken for `leaseMs` was not answered. */
  unanswered(leaseMs: number): void {
    this.#strays += 1
    this.#longestMs = Math.max(this.#longestMs, leaseMs)
  }

  get strays(): number {
    return this.#strays
  }

  /** How long the store may keep the key from now on, if it has it. */
  get longestMs(): number {
    return this.#longestMs
  }
}
