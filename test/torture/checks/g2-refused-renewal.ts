import { HEARD_MS } from './certainty.ts'
import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'
import { outside } from './span.ts'

/** From the answer to the word there is no turn of the event loop, and one that takes 600 ms is written down. */
const SLACK_MS = 700

/** Who is told by a renewal that its lease is gone does not wait for its deadline: it has word at once. */
export function refusedRenewal(round: Round, findings: Findings): void {
  for (const attempt of round.attempts) {
    const { by, acts, grantedAt, lostAt, releaseAt } = attempt
    if (grantedAt === null) continue
    const untoldAt = Math.min(lostAt ?? Infinity, releaseAt ?? Infinity, round.workers.get(by)?.seenAt ?? 0)
    const heldAt = acts.findLast(({ held }) => held)?.at ?? 0
    const to = Math.max(untoldAt, heldAt)
    for (const { key, at } of refusals(round, attempt)) {
      const from = Math.max(grantedAt, at)
      if (to - from <= SLACK_MS || outside({ from, to }, round.stillness(by)) <= SLACK_MS) continue
      const message = `${by} went on with "${key}" for ${Math.round(to - from)} ms after a renewal was refused`
      findings.fail('G2', message, { key, from, to, workers: [by] })
    }
  }
}

/** The first of each key. */
function refusals(
  { store }: Round,
  { keys, tokens }: Attempt,
): { readonly key: string; readonly at: number }[] {
  return keys.flatMap((key, i) => {
    const grant = store.grant(key, Number((tokens[i] ?? 0n) / 1024n))
    const refused = grant?.owner.steps.filter(
      ({ step, answer, sentAt, repliedAt }) =>
        step === 'renew' && answer === 'no' && repliedAt - sentAt < HEARD_MS,
    )
    return refused?.length ? [{ key, at: Math.min(...refused.map(({ repliedAt }) => repliedAt)) }] : []
  })
}
