import type { Findings } from './findings.ts'
import { mayBeLost } from './reasons.ts'
import type { Attempt, Round } from './round.ts'

/** No word of a loss without a reason for it, and none that is taken back. */
export function falseAlarm(round: Round, findings: Findings): void {
  for (const attempt of round.attempts) {
    const { by, id, keys } = attempt
    const where = { key: keys[0] ?? null, workers: [by] }
    const what = `${by} had word of the loss of "${keys.join('", "')}" (${id})`
    const at = wordOf(attempt)
    if (at === null) continue
    const back = attempt.acts.find((act) => act.held && act.at > at)
    if (back) findings.fail('G2', `${what}, and saw it held again`, { ...where, from: at, to: back.at })
    if (!mayBeLost(round, attempt, at))
      findings.fail('G2', `${what} before it was due, and for no other reason`, { ...where, from: at })
  }
}

/** By the signal, or by a look at `held`. */
function wordOf({ acts, lostAt }: Attempt): number | null {
  const sawAt = acts.find(({ held }) => !held)?.at ?? Infinity
  const at = Math.min(sawAt, lostAt ?? Infinity)
  return at === Infinity ? null : at
}
