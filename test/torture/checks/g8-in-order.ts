import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'

/** Who is refused and who is granted at one moment may be written down in any order, or a timer be a little early. */
const SLACK_MS = 100

/**
 * Those of one process who wait for one key get it in the order in which they asked, and nobody gets it while one who
 * asked before still waits. Not those who enter again or do not wait, and not those who take several keys: they wait for
 * one after the other.
 */
export function inOrder(round: Round, findings: Findings): void {
  const lines = new Map<string, Attempt[]>()
  for (const attempt of round.attempts) {
    const isInLine = attempt.how === 'acquire' || attempt.how === 'using'
    if (!isInLine || attempt.waitMs === 0) continue
    const id = `${attempt.by} ${attempt.keys[0]}`
    const line = lines.get(id)
    if (line) line.push(attempt)
    else lines.set(id, [attempt])
  }
  for (const line of lines.values()) {
    // In the order of the asks; so each must be granted after all before it have waited.
    let last: Attempt | null = null
    for (const next of line) {
      if (last && (next.grantedAt ?? Infinity) < waitedUntil(last)) {
        findings.fail(
          'G8',
          `${next.by} asked for "${next.keys[0]}" as ${next.id} after ${last.id}, and got it before`,
          {
            key: next.keys[0] ?? null,
            from: last.askedAt,
            to: waitedUntil(last),
            workers: [next.by],
          },
        )
      }
      if (!last || waitedUntil(next) > waitedUntil(last)) last = next
    }
  }
}

/** Until then nobody who asked later may have been served. One who was killed waited as well. */
function waitedUntil({ askedAt, waitMs, grantedAt, refused }: Attempt): number {
  return grantedAt ?? Math.min(refused?.at ?? Infinity, askedAt + waitMs) - SLACK_MS
}
