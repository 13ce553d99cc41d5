import { longest } from './certainty.ts'
import type { Round } from './round.ts'
import { gaps, type Span, touches, union } from './span.ts'
import type { Owner, Step } from './store-view.ts'

/** So long after it was sent, or after a fault that was on its way, no server carries out a call, nor a copy of it. */
const LATE_MS = 10_000

/**
 * When each key may have been held, however late what was sent took effect. The other side of `certainties`: a key that is
 * held by none of these is free.
 */
export class Possessions {
  readonly #round: Round
  readonly #byKey = new Map<string, Span[]>()
  readonly #free = new Map<string, Span[]>()
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
    const begun = (this.#byKey.get(key) ?? []).filter(({ from }) => from <= at)
    return begun.reduce((latest, { to }) => Math.max(latest, to), -Infinity)
  }

  /** When nobody can have held the key, in order. */
  free(key: string): readonly Span[] {
    const free = this.#free.get(key) ?? gaps(union(this.#byKey.get(key) ?? []))
    this.#free.set(key, free)
    return free
  }

  /** Evictions are left out: without them it can only be held for longer. */
  #of({ steps }: Owner): Span[] {
    const effective = steps.flatMap((step) => {
      const until = this.#effectiveUntil(step)
      return step.step === 'release' || until === null ? [] : [{ step, until }]
    })
    return effective.flatMap(({ step: ask, until }): Span[] => {
      if (ask.step !== 'acquire') return []
      let to = until + longest(ask.leaseMs)
      // One that comes when it has run out does not take it back.
      for (const { step, until: renewedAt } of effective) {
        if (step.sentAt >= ask.sentAt && step.sentAt <= to)
          to = Math.max(to, renewedAt + longest(step.leaseMs))
      }
      const from = ask.sentAt
      // Whether it was still in force then or not, by the answer: it is not any more.
      const release = steps.find(
        ({ step, answer, sentAt }) => step === 'release' && answer !== null && sentAt > until,
      )
      if (!release || this.#mayBeForgotten({ from: release.sentAt, to })) return [{ from, to }]
      return [{ from, to: Math.min(to, release.repliedAt) }]
    })
  }

  #mayBeForgotten(span: Span): boolean {
    return this.#round.losses.some((loss) => touches(loss, span))
  }

  /** Null if it has no effect. In a fault, a driver may send a call again whose answer came, and the first copy be late. */
  #effectiveUntil({ by, step, sentAt, repliedAt, failedAt, answer }: Step): number | null {
    const sent = { from: sentAt, to: Math.min(repliedAt, sentAt + LATE_MS) }
    const ends = this.#hindrances(by)
      .filter((span) => touches(span, sent))
      .map(({ to }) => to)
    if (answer === 'no' && (step === 'renew' || ends.length === 0)) return null
    if (answer !== null && ends.length === 0) return repliedAt
    const endedAt = answer === null ? (failedAt ?? sentAt) : repliedAt
    return Math.max(endedAt, ...ends) + LATE_MS
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
