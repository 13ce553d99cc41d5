import type { LockStats } from '../monitor/stats.ts'

const WINDOW_MS = 60_000

/** Numbers that only rise. */
interface Counts {
  readonly ended: number
  readonly failed: number
  readonly conflicts: number
  readonly lost: number
  readonly calls: number
  readonly answered: number
}

/** What a row of looks at the statistics tells, within the last minute and since when. */
export class Readings {
  /** The first one is the newest that is older than the window, if any is. */
  readonly #rows: { readonly at: number; readonly counts: Counts }[]
  /** Calls of the store have failed, and none has succeeded, since then. */
  failingSince: number | null = null
  /** There have been leases whose last renewal had failed since then. */
  unrenewedSince: number | null = null
  /** Calls have waited for a connection of the pool since then. */
  crowdedSince: number | null = null
  /** No call of the store has ended since the look before. */
  isIdle = false
  #stats: LockStats

  constructor(stats: LockStats, now: number) {
    this.#stats = stats
    this.#rows = [{ at: now, counts: countsOf(stats) }]
  }

  get stats(): LockStats {
    return this.#stats
  }

  /** `unrenewed`: how many leases there are whose last renewal has failed. */
  take(stats: LockStats, unrenewed: number, now: number): void {
    const { counts: before } = this.#rows.at(-1)!
    const counts = countsOf(stats)
    this.#stats = stats
    this.#rows.push({ at: now, counts })
    while (this.#rows[1] && this.#rows[1].at <= now - WINDOW_MS) this.#rows.shift()
    this.isIdle = counts.calls === before.calls
    if (counts.answered > before.answered) this.failingSince = null
    else if (!this.isIdle) this.failingSince ??= now
    this.unrenewedSince = unrenewed > 0 ? (this.unrenewedSince ?? now) : null
    this.crowdedSince = (stats.pool?.waiting ?? 0) > 0 ? (this.crowdedSince ?? now) : null
  }

  withinMinute(name: keyof Counts): number {
    return this.#rows.at(-1)!.counts[name] - this.#rows[0]!.counts[name]
  }
}

function countsOf(stats: LockStats): Counts {
  const { granted, timedOut, aborted, failed, lost, storeCalls } = stats
  return {
    ended: granted + timedOut + aborted + failed,
    failed: timedOut + failed,
    conflicts: stats.conflicts.reduce(
      (sum, { waiter, holder, count }) => sum + (waiter === holder ? 0 : count),
      0,
    ),
    lost,
    calls: storeCalls,
    answered: storeCalls - stats.storeFailures,
  }
}
