import type { Claim } from '../../store.ts'

interface Asked {
  /** Asks of this owner that are under way. */
  count: number
  /** What one of them had from both stores, and may have been given out; before that, no number is as high. */
  full: number
}

/**
 * Of an ask whose answer was late there may be copies under way, of the same owner. One that finds in `from` what
 * another had from both has got nothing of its own that it could take back.
 */
export class Copies {
  readonly #byOwner = new Map<string, Asked>()

  async during<T>(asks: readonly Claim[], work: () => Promise<T>): Promise<T> {
    for (const { owner } of asks) {
      const asked = this.#byOwner.get(owner)
      if (asked) asked.count += 1
      else this.#byOwner.set(owner, { count: 1, full: Infinity })
    }
    try {
      return await work()
    } finally {
      for (const { owner } of asks) {
        const asked = this.#byOwner.get(owner)
        if (asked && (asked.count -= 1) === 0) this.#byOwner.delete(owner)
      }
    }
  }

  /** To be told before a store is: a copy may find the number there at once. */
  full(owner: string, grant: number): void {
    const asked = this.#byOwner.get(owner)
    if (asked) asked.full = Math.min(asked.full, grant)
  }

  /** It has it no more: what a copy gets from now on is its own. */
  left(owner: string): void {
    const asked = this.#byOwner.get(owner)
    if (asked) asked.full = Infinity
  }

  /** Whether `grant` is what a copy had from both stores, or what that was raised to since. */
  isFull(owner: string, grant: number): boolean {
    return grant >= (this.#byOwner.get(owner)?.full ?? Infinity)
  }
}
