import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** Who had word of the loss is not told at the end that all was well: not by `release()`, nor by its section. */
export function lossIsTold(round: Round, findings: Findings): void {
  for (const { by, how, keys, lostAt, releaseAt, released } of round.attempts) {
    if (lostAt === null || releaseAt === null || lostAt >= releaseAt || !released?.ok) continue
    const message = `${by} (${how} of "${keys.join('", "')}") was lost, and ended as if it were not`
    findings.fail('G6', message, { key: keys[0] ?? null, from: lostAt, to: released.at, workers: [by] })
  }
}
