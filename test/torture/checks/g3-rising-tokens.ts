import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'

interface Minted {
  /** It was made between these two. */
  readonly askedAt: number
  readonly grantedAt: number
  readonly number: bigint
  readonly by: string
}

/** What was granted before the next was asked for has a lower number. Always: no loss of data is an excuse. */
export function risingTokens(round: Round, findings: Findings): void {
  for (const [key, tokens] of tokensByKey(round.attempts)) {
    rising(key, 'token', tokens, findings)
  }
  for (const [key, grants] of round.store.grants) {
    const minted = grants.flatMap(({ number, owner, confirmed }): Minted[] => {
      const first = confirmed[0]
      // It keeps its name while it is refused, and that makes no number.
      const ask = owner.steps.find(({ step, answer }) => step === 'acquire' && answer !== 'no')
      if (!first || !ask) return []
      return [{ askedAt: ask.sentAt, grantedAt: first.repliedAt, number: BigInt(number), by: first.by }]
    })
    rising(key, 'grant number', minted, findings)
  }
}

function rising(key: string, what: string, minted: readonly Minted[], findings: Findings): void {
  const seen = new Map<bigint, Minted>()
  const granted = minted.toSorted((a, b) => a.grantedAt - b.grantedAt)
  let highest: Minted | null = null
  let i = 0
  for (const next of minted.toSorted((a, b) => a.askedAt - b.askedAt)) {
    for (let before = granted[i]; before && before.grantedAt < next.askedAt; before = granted[++i]) {
      if (!highest || before.number > highest.number) highest = before
    }
    const same = seen.get(next.number)
    const wrong = same ?? (highest && highest.number > next.number ? highest : null)
    seen.set(next.number, next)
    if (!wrong) continue
    findings.fail(
      'G3',
      `${next.by} got ${what} ${next.number} of "${key}" after ${wrong.by} had got ${wrong.number}`,
      { key, from: wrong.grantedAt, to: next.grantedAt, workers: [wrong.by, next.by] },
    )
  }
}

/** Re-entry shares the token of the lease around it. */
function tokensByKey(attempts: readonly Attempt[]): Map<string, Minted[]> {
  const byKey = new Map<string, Minted[]>()
  for (const { by, how, keys, tokens, askedAt, grantedAt } of attempts) {
    if (grantedAt === null || how === 're-enter') continue
    keys.forEach((key, i) => {
      const minted = byKey.get(key) ?? []
      byKey.set(key, minted)
      minted.push({ askedAt, grantedAt, number: tokens[i] ?? 0n, by })
    })
  }
  return byKey
}
