import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** By then every driver has connected anew; all but one did within three seconds, and its pauses are made shorter. */
const RECOVERY_MS = 10_000
/** In that time, and the ten seconds after it, a worker calls its store some eighty times. */
const FEWEST = 3

/** A client whose store is back works again. One that does not has others around it that do, and refuses in good order. */
export function backToWork(round: Round, findings: Findings): void {
  const from = Math.max(round.calmAt, ...round.faults.map(({ to }) => to)) + RECOVERY_MS
  const tried = new Map<string, number>()
  const answered = new Set<string>()
  const tries = (by: string, at: number): void => {
    const closingAt = round.workers.get(by)?.closingAt ?? Infinity
    if (at >= from && at < closingAt) tried.set(by, (tried.get(by) ?? 0) + 1)
  }
  for (const { by, askedAt } of round.attempts) tries(by, askedAt)
  for (const { name, openings } of round.workers.values()) for (const at of openings) tries(name, at)
  for (const { steps } of round.store.owners.values()) {
    for (const { by, sentAt, answer } of steps) {
      tries(by, sentAt)
      if (answer !== null && sentAt >= from) answered.add(by)
    }
  }
  for (const [by, times] of tried) {
    if (times < FEWEST || answered.has(by)) continue
    const message = `${by} never reached its store again, which had been back for ${RECOVERY_MS / 1000} s: ${times} asks and calls`
    findings.fail('G7', message, { from, to: round.endAt, workers: [by] })
  }
}
