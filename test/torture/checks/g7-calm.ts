import type { Findings } from './findings.ts'
import type { Attempt, Round, Worker } from './round.ts'
import { outside, type Span, union } from './span.ts'
import type { Step } from './store-view.ts'

/** The limit of core for a call to its store. */
const CALL_MS = 3000
/** For a machine with more to do than it can. The only times that are measured are those here. */
const SLACK_MS = 5000

/** No process dies of a fault, and nobody waits for ever. */
export function calm(round: Round, findings: Findings): void {
  const worstLeaseMs = round.attempts.reduce((most, { leaseMs }) => Math.max(most, leaseMs), 0)
  const idle = new Map([...round.workers].map(([name, worker]) => [name, idleOf(round, worker)]))
  const steps = stepsAfter(round)
  if (round.calmAt === Infinity) findings.fail('G7', 'the faults had no end', { from: round.endAt })
  for (const worker of round.workers.values()) {
    const { name, died } = worker
    if (!died || round.wasKilled(worker)) continue
    // All are told to end when it has been calm for a while, and do so by themselves.
    if (died.wanted && died.code === '0' && died.at >= round.calmAt) continue
    findings.fail('G7', `${name} died by itself (${died.code})`, { from: died.at, workers: [name] })
  }
  for (const attempt of round.attempts) {
    const { by, askedAt } = attempt
    const worker = round.workers.get(by)
    const key = attempt.keys[0] ?? null
    const where = { key, from: askedAt, workers: [by] }
    const answeredAt = attempt.grantedAt ?? attempt.refused?.at ?? null
    const to = answeredAt ?? worker?.died?.at ?? round.endAt
    const waitedMs = outside({ from: askedAt, to }, idle.get(by) ?? [])
    const asked = `${by} asked for "${attempt.keys.join('", "')}" (wait ${attempt.waitMs} ms)`
    if (waitedMs > attempt.waitMs + CALL_MS + SLACK_MS) {
      const message = `${asked} and had no answer for ${Math.round(waitedMs)} ms in which it ran`
      findings.fail('G7', message, { ...where, to })
    } else if (answeredAt === null && worker && !round.wasKilled(worker)) {
      findings.fail('G7', `${asked} and never had an answer`, { ...where, to })
    } else {
      const gapMs = CALL_MS + SLACK_MS + worstLeaseMs
      const calls = [...(steps.get(`${by} ${key}`) ?? []), ...(worker?.openings ?? [])].sort((a, b) => a - b)
      const since = Math.max(askedAt, round.calmAt)
      if (stoodStill(attempt, { from: since, to }, calls, idle.get(by) ?? [], gapMs))
        findings.fail('G7', `${asked} and then did nothing to get it`, { ...where, to })
    }
  }
}

/** When it did not run, or a fault that is not on another worker may have kept it from its work. */
function idleOf(round: Round, { name, blocks }: Worker): Span[] {
  return union([...blocks, ...round.faultsOn(name)])
}

/**
 * When calm has come, one who waits for a key asks for it now and then, or its process holds it and renews, or tries to
 * open the store.
 */
function stoodStill(
  { how }: Attempt,
  { from, to }: Span,
  calls: readonly number[],
  idle: readonly Span[],
  longestMs: number,
): boolean {
  if (how === 'several' || how === 're-enter' || to - from <= longestMs) return false
  const times = [from, ...calls.filter((at) => at > from && at < to), to]
  return times.some((at, i) => i > 0 && outside({ from: times[i - 1] as number, to: at }, idle) > longestMs)
}

/** When each worker called the store about each key, after calm had come. */
function stepsAfter({ store, calmAt }: Round): Map<string, number[]> {
  const times = new Map<string, number[]>()
  const note = ({ by, key, sentAt }: Step): void => {
    if (sentAt < calmAt) return
    const known = times.get(`${by} ${key}`)
    if (known) known.push(sentAt)
    else times.set(`${by} ${key}`, [sentAt])
  }
  for (const { steps } of store.owners.values()) steps.forEach(note)
  for (const known of times.values()) known.sort((a, b) => a - b)
  return times
}
