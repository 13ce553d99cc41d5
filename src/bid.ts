import type { Claim } from './store.ts'

/**
 * One owner id: asked under until it is granted, then held under. It is kept over failed asks, so that
 * a lost reply and its retry come to one grant; and it remembers what the store may do yet.
 */
export class Bid {
  readonly claim: Claim
  /** Granted, or a release was sent, which may arrive again at any time: not to be asked under any more. */
  spent = false
  #strays = 0
  #longestMs = 0

  constructor(claim: Claim) {
    this.claim = claim
  }

  /** An ask or a renewal of this length is about to be sent. Whatever comes back, it may take effect. */
  sending(leaseMs: number): void {
    this.#longestMs = Math.max(this.#longestMs, leaseMs)
  }

  /** An ask was not answered: it may have taken the key, or may still arrive and take it. */
  askUnanswered(): void {
    this.#strays += 1
  }

  get strays(): number {
    return this.#strays
  }

  /** How long the store may keep the key after the last call of ours that it saw. */
  get longestMs(): number {
    return this.#longestMs
  }
}
