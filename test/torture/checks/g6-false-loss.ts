import type { Findings } from './findings.ts'
import { mayBeLost } from './reasons.ts'
import { releasesOf } from './releases.ts'
import type { Round } from './round.ts'

/** An end says that the lease was lost only if it was, or if the store did not say yes to its release. */
export function falseLoss(round: Round, findings: Findings): void {
  for (const attempt of round.attempts) {
    const { by, how, keys, lostAt, releaseAt, released } = attempt
    if (releaseAt === null || !released || lostAt !== null || attempt.acts.some(({ held }) => !held)) continue
    // Rejected with another code, it does not say that.
    if (released.ok || (released.code !== null && released.code !== 'LOCK_LOST')) continue
    const releases = releasesOf(round, attempt)
    // Once that is sent, the time of the lease does not matter any more.
    const heldAt = releases.reduce((first, { sentAt }) => Math.min(first, sentAt), released.at)
    if (releases.some(({ answer }) => answer !== 'yes') || mayBeLost(round, attempt, heldAt)) continue
    const message = `${by} (${how} of "${keys.join('", "')}") ended as if it were lost, for no reason`
    findings.fail('G6', message, { key: keys[0] ?? null, from: releaseAt, to: released.at, workers: [by] })
  }
}
