import type { Attempt } from '../attempt.ts'
import type { Invariant, Scene } from '../scene.ts'

/** The same context enters again at once and without the store; siblings still exclude each other. */
export function reEntry({ ledger, fail }: Scene): Invariant {
  const mustEnterAtOnce = new Map<Attempt, number>()

  return {
    hear(fact) {
      if (fact.is === 'asked') {
        const { attempt } = fact
        if (attempt.reenters && !siblingOf(attempt) && isHeld(attempt.outer)) {
          mustEnterAtOnce.set(attempt, attempt.process.time)
        }
      }
      if (fact.is === 'entered') mustEnterAtOnce.delete(fact.attempt)
      if (fact.is === 'settled') mustEnterAtOnce.delete(fact.attempt)
    },
    look() {
      for (const [attempt, since] of mustEnterAtOnce) {
        if (attempt.process.crashed) mustEnterAtOnce.delete(attempt)
        // Its code may have been held up on the way; nothing else may take time.
        else if (attempt.process.time > Math.max(since, attempt.process.busyUntil)) {
          fail('G10', `${attempt.name} does not enter ${attempt.key} again at once`)
        }
      }
      const nested = new Map<Attempt, Attempt>()
      for (const attempt of ledger.inside) {
        const { outer } = attempt
        if (!outer || !attempt.reenters || attempt.process.crashed) continue
        const other = nested.get(outer)
        if (other) fail('G10', `the siblings ${other.name} and ${attempt.name} are inside at the same time`)
        nested.set(outer, attempt)
        if (ledger.isHeld(attempt) && !ledger.isHeld(outer))
          fail('G10', `${attempt.name} holds what ${outer.name} around it has lost`)
      }
    },
  }

  function siblingOf(attempt: Attempt): boolean {
    const isSibling = (other: Attempt): boolean =>
      other !== attempt && other.outer === attempt.outer && other.settledAt === undefined
    return ledger.attempts.some(isSibling)
  }

  function isHeld(attempt: Attempt | null): boolean {
    return attempt?.inside === true && attempt.signal?.aborted === false
  }
}
