import type { Violation } from '../violation.ts'

/** What was looked at, and what is worth telling although it is no violation. */
export interface Figures {
  asks: number
  grants: number
  storeCalls: number
  /** Two held a key at one time, as far as anyone can tell, after the store forgot or a forced release. */
  overlapsExcused: number
  guardedTaken: number
  guardedStale: number
  /** Writes of an earlier holder over those of a later one, in the register without a guard. */
  unguardedWentBack: number
  /** For the lock models: pieces of a history that were checked, that no model holds for, that were too much. */
  piecesChecked: number
  piecesExcused: number
  piecesTooLong: number
}

/** One mistake may show thousands of times: so many of a kind are shown. */
const SHOWN = 20

export class Findings {
  readonly figures: Figures = {
    asks: 0,
    grants: 0,
    storeCalls: 0,
    overlapsExcused: 0,
    guardedTaken: 0,
    guardedStale: 0,
    unguardedWentBack: 0,
    piecesChecked: 0,
    piecesExcused: 0,
    piecesTooLong: 0,
  }
  readonly #found = new Map<string, Violation[]>()

  fail(guarantee: string, message: string, where: Partial<Omit<Violation, 'guarantee' | 'message'>>): void {
    const { key = null, from = 0, to = from, workers = [] } = where
    const violations = this.#found.get(guarantee) ?? []
    if (violations.length === 0) this.#found.set(guarantee, violations)
    violations.push({ guarantee, message, key, from, to, workers: [...new Set(workers)] })
  }

  get violations(): Violation[] {
    return [...this.#found.values()].flatMap((violations) => {
      const first = violations[SHOWN]
      if (!first) return violations
      const more = { ...first, message: `…and ${violations.length - SHOWN} more of this kind` }
      return [...violations.slice(0, SHOWN), more]
    })
  }
}
