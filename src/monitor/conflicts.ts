/** How many services of holders have a place of their own. */
const MAX_HOLDERS = 64
const THE_REST = 'other'

/** How many requests of one service met a holder of another, or of its own: each once, with the first it met. */
export interface Conflict {
  /** The service that had to wait or was turned away: that of this client. */
  readonly waiter: string
  /** The service that had the key; beyond 64 of them, `other`. */
  readonly holder: string
  readonly count: number
}

/** One row of the matrix waiter × holder: a client is one service. */
export class Conflicts {
  readonly #waiter: string
  readonly #byHolder = new Map<string, number>()
  /** Apart, since a busy process meets itself most of all. */
  #withItself = 0

  constructor(waiter: string) {
    this.#waiter = waiter
  }

  /** `holder` is null for one of this same process. */
  add(holder: string | null, count: number): void {
    if (holder === null || holder === this.#waiter) {
      this.#withItself += count
      return
    }
    const known = this.#byHolder.has(holder) || this.#byHolder.size < MAX_HOLDERS
    const name = known ? holder : THE_REST
    this.#byHolder.set(name, (this.#byHolder.get(name) ?? 0) + count)
  }

  /** The most frequent first. */
  snapshot(): Conflict[] {
    const waiter = this.#waiter
    const counts = new Map(this.#byHolder)
    // A service may have the name of the rest.
    if (this.#withItself > 0) counts.set(waiter, (counts.get(waiter) ?? 0) + this.#withItself)
    const all = Array.from(counts, ([holder, count]) => ({ waiter, holder, count }))
    return all.sort((a, b) => b.count - a.count)
  }
}
