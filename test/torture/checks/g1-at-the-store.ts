import { type Certain, certainties } from './certainty.ts'
import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

interface Clash {
  readonly earlier: Certain
  readonly later: Certain
}

/**
 * Exclusion by the store's own answers. Numbers rise, so of two grants the one with the lower number came first: it
 * must be able to end before the other was answered.
 */
export function exclusionAtTheStore(round: Round, findings: Findings): void {
  for (const key of round.store.grants.keys()) {
    const clashes = clashesIn(certainties(round, key, true))
    for (const { earlier, later } of clashes) {
      const [a, b] = [earlier, later].map(({ grant, by }) => `${by} (token ${BigInt(grant.number) * 1024n})`)
      const to = Math.max(later.from, Math.min(earlier.to, later.to))
      const where = { key, from: later.from, to, workers: [earlier.by, later.by] }
      findings.fail('G1', `the store granted "${key}" to ${b} while ${a} still held it`, where)
    }
    const all = clashesIn(certainties(round, key, false))
    findings.figures.overlapsExcused += Math.max(0, all.length - clashes.length)
  }
}

/** Across a loss of data there are none: certainty of before ends where it begins. */
function clashesIn(certain: readonly Certain[]): Clash[] {
  const clashes: Clash[] = []
  let last: Certain | null = null
  for (const next of certain) {
    const isOther = last && last.grant.owner !== next.grant.owner
    if (last && isOther && last.to > next.from) clashes.push({ earlier: last, later: next })
    if (!last || next.to > last.to) last = next
  }
  return clashes
}
