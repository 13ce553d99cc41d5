import { heardBy } from './certainty.ts'
import type { Findings } from './findings.ts'
import { heldUntil } from './held.ts'
import type { Round } from './round.ts'
import { type Span, touches } from './span.ts'

interface Holder extends Span {
  readonly key: string
  readonly token: bigint
  readonly by: string
}

/** Exclusion as the holders see it: while one sees `held`, no other does, in its own process neither. */
export function exclusionAmongHolders(round: Round, findings: Findings): void {
  for (const [key, holders] of holdersByKey(round)) {
    let open: Holder[] = []
    for (const next of holders) {
      // Each of them: an overlap that is excused must not hide another one.
      open = open.filter(({ to }) => to > next.from)
      for (const other of open) {
        const span = { from: next.from, to: Math.min(other.to, next.to) }
        if (isExcused(round, other, next, span)) findings.figures.overlapsExcused += 1
        else {
          const message = `${next.by} held "${key}" (token ${next.token}) while ${other.by} did (token ${other.token})`
          findings.fail('G1', message, { key, ...span, workers: [other.by, next.by] })
        }
      }
      open.push(next)
    }
  }
}

/** Those who saw `held`, from the grant, before which they could not look, until they saw it last; in order. */
function holdersByKey(round: Round): Map<string, Holder[]> {
  // A lease and those that entered again inside it share its token, and are one holder.
  const holders = new Map<string, { -readonly [K in keyof Holder]: Holder[K] }>()
  for (const attempt of round.attempts) {
    const to = heldUntil(attempt)
    if (attempt.grantedAt === null || to === null) continue
    const { by, grantedAt: from } = attempt
    attempt.keys.forEach((key, i) => {
      const token = attempt.tokens[i] ?? 0n
      const id = `${by} ${token} ${key}`
      const holder = holders.get(id)
      if (!holder) holders.set(id, { key, token, by, from, to })
      else holder.to = Math.max(holder.to, to)
    })
  }
  const byKey = new Map<string, Holder[]>()
  for (const holder of [...holders.values()].sort((a, b) => a.from - b.from)) {
    const known = byKey.get(holder.key)
    if (known) known.push(holder)
    else byKey.set(holder.key, [holder])
  }
  return byKey
}

/** A holder cannot know that the store forgot it, or that it was freed by force, before it hears from it again. */
function isExcused(round: Round, a: Holder, b: Holder, overlap: Span): boolean {
  const numbers = [a, b].map(({ token }) => Number(token / 1024n))
  // A key that is passed on inside a process: whatever the store does, one has given it up before the other has it.
  if (numbers[0] === numbers[1]) return false
  const heard = numbers.map((number) => heardBy(round.store.grant(a.key, number), overlap.from)?.sentAt)
  const span = { from: Math.min(...heard.map((sentAt) => sentAt ?? overlap.from)), to: overlap.to }
  // The store gave the lower number first. That the other was freed by force is no reason for two to hold.
  const evictions = round.evictions.of(a.key, Math.min(...numbers))
  return [...round.losses, ...evictions].some((excuse) => touches(excuse, span))
}
