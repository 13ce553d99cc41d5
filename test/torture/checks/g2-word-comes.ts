import { heardBy, wordDue } from './certainty.ts'
import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'
import { outside } from './span.ts'

/** A timer is late by as long as the event loop stands still, which is written down if it is for more than 600 ms. */
const SLACK_MS = 1000

/** Word of a loss comes when it is due, if the lease was not given back before: while the process runs, at once. */
export function wordComes(round: Round, findings: Findings): void {
  for (const attempt of round.attempts) {
    const { by, id, keys, lostAt, releaseAt } = attempt
    if (attempt.grantedAt === null) continue
    const worker = round.workers.get(by)
    const to = Math.min(lostAt ?? Infinity, releaseAt ?? Infinity, worker?.died?.at ?? round.endAt)
    // Of several keys the first may be lost while the last is waited for.
    const from = Math.max(attempt.grantedAt, dueBy(round, attempt, to))
    const lateMs = outside({ from, to }, round.stillness(by))
    if (lateMs <= SLACK_MS) continue
    const message = `${by} had no word of the loss of "${keys.join('", "')}" (${id}) for ${Math.round(lateMs)} ms in which it ran`
    findings.fail('G2', message, { key: keys[0] ?? null, from, to, workers: [by] })
  }
}

/** When it had to know, by all that it had heard until then; of several keys, of the first that was lost. */
function dueBy({ store }: Round, { keys, tokens }: Attempt, at: number): number {
  const dues = keys.map((key, i) => {
    const heard = heardBy(store.grant(key, Number((tokens[i] ?? 0n) / 1024n)), at)
    return heard ? wordDue(heard) : Infinity // A lease that no store gave: the other check of G2 says so.
  })
  return Math.min(...dues)
}
