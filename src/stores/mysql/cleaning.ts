import type { SweepStep } from '../shared/sweep.ts'
import { textOfHex } from './expressions.ts'
import { isInTheWay } from './failures.ts'
import { MOST_GONE, type Statements } from './statements.ts'

/**
 * Removes what is stale among the next records. They are found by a read that locks nothing, and removed by their keys:
 * no statement locks a record that somebody may want, or the gaps between them.
 */
export function cleaning(
  statements: Statements,
  keepMs: number,
  run: (sql: string) => Promise<readonly string[]>,
): SweepStep {
  return async (after, count) => {
    const [ahead] = await run(statements.ahead(after, count))
    const upTo = ahead === undefined ? null : textOfHex(ahead)
    for (let from = after; ;) {
      const stale = (await run(statements.stale(from, upTo, keepMs))).map(textOfHex)
      if (stale.length > 0) await run(statements.remove(stale, keepMs)).catch(unlessInTheWay)
      if (stale.length < MOST_GONE) return upTo
      from = stale.at(-1) ?? from
    }
  }
}

/** Somebody has locked one of them: these are left for the next time. */
function unlessInTheWay(error: unknown): void {
  if (!isInTheWay(error)) throw error
}
