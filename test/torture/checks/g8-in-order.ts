import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'

/**
 * Those of one process who wait for one key get it in the order in which they asked. Not those who enter again or do
 * not wait, and not those who take several keys: they wait for one after the other.
 */
export function inOrder(round: Round, findings: Findings): void {
  const lines = new Map<string, Attempt[]>()
  for (const attempt of round.attempts) {
    const isInLine = attempt.how === 'acquire' || attempt.how === 'using'
    if (!isInLine || attempt.waitMs === 0 || attempt.grantedAt === null) continue
    const id = `${attempt.by} ${attempt.keys[0]}`
    const line = lines.get(id)
    if (line) line.push(attempt)
    else lines.set(id, [attempt])
  }
  for (const line of lines.values()) {
    // In the order of the asks; so each must be granted after all before it.
    let last: Attempt | null = null
    for (const next of line) {
      if (last && grantedAt(next) < grantedAt(last)) {
        findings.fail(
          'G8',
          `${next.by} asked for "${next.keys[0]}" as ${next.id} after ${last.id}, and got it before`,
          {
            key: next.keys[0] ?? null,
            from: last.askedAt,
            to: grantedAt(last),
            workers: [next.by],
          },
        )
      } else last = next
    }
  }
}

function grantedAt(attempt: Attempt): number {
  return attempt.grantedAt ?? Infinity
}
