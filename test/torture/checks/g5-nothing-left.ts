import type { Listed } from '../history.ts'
import type { Findings } from './findings.ts'
import type { Round } from './round.ts'
import { touches } from './span.ts'

/** The limit of a call and the longest lease, and more: so long after it was sent nothing comes of a call any more. */
const LATE_MS = 10_000

/**
 * A client gives all back before it has closed, which a store that fails over by itself may forget; and when the leases of the
 * dead have run out too, nothing is held.
 */
export function nothingLeft(round: Round, findings: Findings): void {
  const { listed, left, workers, endAt } = round
  if (listed.length === 0 || left.length === 0)
    findings.fail('G5', 'nobody looked at what was left', { from: endAt })
  for (const { at, locks } of listed) {
    for (const lock of locks) {
      const { key, by } = lock
      const closedAt = workers.get(by)?.closedAt ?? null
      if (closedAt === null || closedAt > at || mayBeLate(round, key, by, at)) continue
      if (round.losses.some((loss) => touches(loss, { from: at - LATE_MS, to: at }))) continue
      const message = `"${key}" is still held by ${by} (${grantOf(round, lock)}), which has closed`
      findings.fail('G5', message, { key, from: closedAt, to: at, workers: [by] })
    }
  }
  for (const { at, locks } of left) {
    for (const lock of locks) {
      const { key, by } = lock
      const message = `"${key}" is still held for nobody, by ${by} (${grantOf(round, lock)})`
      findings.fail('G5', message, { key, from: at, workers: [by] })
    }
  }
}

/** With the call that asked for it: the one that was answered with it, or the last that was not answered. */
function grantOf({ store }: Round, { key, by, grant }: Listed): string {
  const known = store.grant(key, grant)?.confirmed.find(({ step }) => step === 'acquire')
  if (known) return `grant ${grant}, by call ${known.call}`
  const lost = [...store.owners.values()]
    .flatMap((owner) => (owner.key === key && owner.by === by ? owner.steps : []))
    .findLast(({ step, answer }) => step === 'acquire' && answer === null)
  return lost ? `grant ${grant}, perhaps by call ${lost.call}, which had no answer` : `grant ${grant}`
}

/** A call that was not answered may have come too late to be undone, or may not have come. */
function mayBeLate({ store }: Round, key: string, by: string, at: number): boolean {
  return [...store.owners.values()].some(
    (owner) =>
      owner.key === key &&
      owner.by === by &&
      owner.steps.some(({ sentAt, answer }) => answer === null && sentAt > at - LATE_MS),
  )
}
