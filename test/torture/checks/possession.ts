import { longest } from './certainty.ts'
import type { Round } from './round.ts'
import { type Span, touches } from './span.ts'
import type { Owner, Step } from './store-view.ts'

/** So long after it was sent, or after a fault that was on its way, no server carries out a call, nor a copy of it. */
const LATE_MS = 10_000

/** From when it was asked for until the last moment at which the lease can have run out by itself. */
interface Possession extends Span {
  /** The call by which it was over before that, if the store did not forget it. */
  readonly release: Span | null
}

/**
 * When each key may have been held, however late what was sent took effect. The other side of `certainties`: a key that is
 * held by none of these is free.
 */
export class Possessions {
  readonly #round: Round
  readonly #byKey = new Map<string, Possession[]>()
  readonly #hindered = new Map<string, readonly Span[]>()

  constructor(round: Round) {
    this.#round = round
    for (const owner of round.store.owners.values()) {
      const known = this.#byKey.get(owner.key) ?? []
      this.#byKey.set(owner.key, known)
      known.push(...this.#of(owner))
    }
  }

  /** By when all leases were over that may have begun before `at`; -Infinity if there were none. */
  freeSince(key: string, at: number): number {
    const ends = (this.#byKey.get(key) ?? []).map(({ from, to, release }) => {
      if (from > at) return -Infinity
      const isForgotten =
        release && this.#round.losses.some((loss) => touches(loss, { from: release.from, to: at }))
      return release && !isForgotten ? Math.min(to, release.to) : to
    })
    return ends.reduce((latest, end) => Math.max(latest, end), -Infinity)
  }

  /** Evictions are left out: without them it can only be held for longer. */
  #of({ steps }: Owner): Possession[] {
    const held = steps.flatMap((step) => {
      const until = this.#effectiveUntil(step)
      return step.step === 'release' || until === null ? [] : [{ step, until }]
    })
    return held.flatMap(({ step: ask, until }): Possession[] => {
      if (ask.step !== 'acquire') return []
      let to = until + longest(ask.leaseMs)
      // One that comes when it has run out does not take it back.
      for (const { step, until: renewedAt } of held)
        if (step.sentAt >= ask.sentAt && step.sentAt <= to)
          to = Math.max(to, renewedAt + longest(step.leaseMs))
      // Whether it was still in force then or not: it is not any more.
      const release = steps.find(
        ({ step, answer, sentAt }) => step === 'release' && answer !== null && sentAt > until,
      )
      return [
        { from: ask.sentAt, to, release: release ? { from: release.sentAt, to: release.repliedAt } : null },
      ]
    })
  }

  /** Null if it has no effect. In a fault, a driver may send a call again whose answer came, and the first copy be late. */
  #effectiveUntil({ by, step, sentAt, repliedAt, failedAt, answer }: Step): number | null {
    const sent = { from: sentAt, to: Math.min(repliedAt, sentAt + LATE_MS) }
    const ends = this.#hindrances(by)
      .filter((span) => touches(span, sent))
      .map(({ to }) => to)
    if (answer === 'no' && (step === 'renew' || ends.length === 0)) return null
    if (answer !== null && ends.length === 0) return repliedAt
    return Math.max(failedAt ?? sentAt, ...ends) + LATE_MS
  }

  /** What may have come between a worker and its store, or kept it from sending at once. */
  #hindrances(name: string): readonly Span[] {
    const known = this.#hindered.get(name)
    if (known) return known
    const spans = [...this.#round.faultsOn(name), ...this.#round.stillness(name)]
    this.#hindered.set(name, spans)
    return spans
  }
}
