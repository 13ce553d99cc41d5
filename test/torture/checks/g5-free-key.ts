import type { Findings } from './findings.ts'
import { Possessions } from './possession.ts'
import type { Round } from './round.ts'
import { touches } from './span.ts'
import type { Step } from './store-view.ts'

/** Servers that were away, or were given other work, may need so long to agree on who has what. */
const GRACE_MS = 3000

/** The store does not refuse a key when every lease on it that it may know of has run out, or was given back. */
export function freeKey(round: Round, findings: Findings): void {
  const possessions = new Possessions(round)
  // By key, and by when it had come free.
  const refusals = new Map<string, Refusals>()
  for (const { key, steps } of round.store.owners.values()) {
    for (const step of steps) {
      if (step.step !== 'acquire' || step.answer !== 'no') continue
      const since = possessions.freeSince(key, step.repliedAt)
      const grace = { from: step.sentAt - GRACE_MS, to: step.repliedAt }
      if (since >= grace.from || round.sharedFaults.some((fault) => touches(fault, grace))) continue
      const known = refusals.get(`${since} ${key}`)
      if (known) known.steps.push(step)
      else refusals.set(`${since} ${key}`, { key, since, steps: [step] })
    }
  }
  for (const each of refusals.values()) tell(each, findings)
}

interface Refusals {
  readonly key: string
  readonly since: number
  readonly steps: Step[]
}

function tell({ key, since, steps }: Refusals, findings: Findings): void {
  const workers = [...new Set(steps.map(({ by }) => by))]
  const first = Math.min(...steps.map(({ sentAt }) => sentAt))
  const to = Math.max(...steps.map(({ repliedAt }) => repliedAt))
  const why =
    since === -Infinity
      ? 'for which nobody had ever asked'
      : `up to ${Math.round(to - since)} ms after every lease on it was over`
  const message = `the store refused "${key}" ${steps.length} times to ${workers.join(', ')}, ${why}`
  findings.fail('G5', message, { key, from: Math.max(since, first - GRACE_MS), to, workers })
}
