import type { Findings } from './findings.ts'
import type { Round } from './round.ts'
import { gaps, outside, type Span, union } from './span.ts'

/** What was about to be sent when the last one ended may still be sent. */
const SLACK_MS = 3000

/**
 * A process renews a key for those who hold it, or who wait for another one with it: not for one who has ended, nor for one
 * who had given up when the key was granted.
 */
export function renewedForNobody(round: Round, findings: Findings): void {
  const idle = idleOf(round)
  for (const { by, key, steps } of round.store.owners.values()) {
    const still = round.stillness(by)
    const since = (at: number): number =>
      idle.get(`${by} ${key}`)?.find(({ from, to }) => from < at && at < to)?.from ?? at
    const wrong = steps.find(
      ({ step, sentAt }) =>
        step === 'renew' && outside({ from: since(sentAt), to: sentAt }, still) > SLACK_MS,
    )
    if (!wrong) continue
    const from = since(wrong.sentAt)
    const message = `${by} renewed "${key}" for nobody, ${Math.round(wrong.sentAt - from)} ms after the last one had ended`
    findings.fail('G5', message, { key, from, to: wrong.sentAt, workers: [by] })
  }
}

/** By worker and key: when nobody in it had asked for the key any more. */
function idleOf(round: Round): Map<string, Span[]> {
  const asked = new Map<string, Span[]>()
  for (const { by, keys, askedAt, refused, released } of round.attempts) {
    const to = released?.at ?? refused?.at ?? Infinity
    for (const key of keys) {
      const known = asked.get(`${by} ${key}`)
      if (known) known.push({ from: askedAt, to })
      else asked.set(`${by} ${key}`, [{ from: askedAt, to }])
    }
  }
  // Before the first of them it had no lease: another check of G4 says so.
  return new Map([...asked].map(([id, spans]) => [id, gaps(union(spans)).slice(1)]))
}
