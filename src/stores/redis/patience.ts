/** How long to wait for replicas. Less than core's limit for a call. */
export const REPLICAS_MS = 1000
/** While another call waits: the two may share a connection, on which one follows the other. */
const BEHIND_MS = 50
/** Of those that were missing the last time, one call finds out so often whether they are back, and waits so long. */
const PROBE_EVERY_MS = 1000
const PROBE_MS = 200

/** Waits for replicas, but not for those that did not come before: a connection can do nothing else meanwhile. */
export class Patience {
  #waiting = 0
  /** Those that were waited for longest ago first. */
  readonly #missing = new Set<string>()
  #probedAt = -Infinity

  /** `where`: what has its own replicas. `wait` resolves to what it has done, and how many have come. */
  async wait<T>(
    where: string,
    wanted: number,
    wait: (replicas: number, limitMs: number) => Promise<readonly [result: T, seen: number]>,
  ): Promise<readonly [result: T, seen: number]> {
    const limitMs = this.#limitAt(where)
    this.#waiting += 1
    try {
      // For none: that is answered at once, however short a limit is not.
      const waited = await (limitMs > 0 ? wait(wanted, limitMs) : wait(0, 1))
      if (waited[1] < wanted) this.#missing.add(where)
      // Others will find out for themselves.
      else if (this.#missing.has(where)) this.#missing.clear()
      return waited
    } finally {
      this.#waiting -= 1
    }
  }

  #limitAt(where: string): number {
    if (!this.#missing.has(where)) return this.#waiting > 0 ? BEHIND_MS : REPLICAS_MS
    const [next] = this.#missing
    // Out of turn, one whose replicas are gone for good would leave no time for those whose are back.
    const dueAt = this.#probedAt + (where === next ? 1 : 2) * PROBE_EVERY_MS
    if (performance.now() < dueAt) return 0
    this.#probedAt = performance.now()
    this.#missing.delete(where)
    this.#missing.add(where)
    return PROBE_MS
  }
}
