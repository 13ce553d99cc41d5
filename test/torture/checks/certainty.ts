import type { Round } from './round.ts'
import { gaps, type Span, touches } from './span.ts'
import type { Grant, Step } from './store-view.ts'

/** An answer to a call that core has given up, after three seconds, says nothing to it. */
export const HEARD_MS = 2500

/** From the reply `from` until `to`, whatever the order of the server's steps was, the key was held under this grant. */
export interface Certain extends Span {
  readonly grant: Grant
  readonly by: string
  /** Between which losses of data. */
  readonly epoch: number
}

export function shortest(leaseMs: number): number {
  return leaseMs - slackOf(leaseMs)
}

export function longest(leaseMs: number): number {
  return leaseMs + slackOf(leaseMs)
}

/** The clock of a server may run at another rate than ours, and count whole milliseconds. */
function slackOf(leaseMs: number): number {
  return 1 + leaseMs * 0.002
}

/**
 * When each grant of `key` was in force for certain, by epoch and in the order of their numbers.
 *
 * A call that was answered with the grant took effect after it was sent: from then the store kept the key for at least
 * its lease. A release may have taken effect as soon as it was sent, whatever was answered. Calls without an answer
 * can only have made it longer.
 *
 * After a loss of data the store knows nothing of before: only what was both sent and answered between two losses
 * counts, up to the next loss. So a grant may have such a span in several of these epochs. With `excuses` false it is as
 * if there were no losses and no forced releases; with `releases` false, as if the owner had sent no release.
 */
export function certainties(round: Round, key: string, excuses: boolean, releases = true): Certain[] {
  const epochs = excuses ? gaps(round.losses) : [{ from: -Infinity, to: Infinity }]
  const result: Certain[] = []
  for (const grant of round.store.grants.get(key) ?? []) {
    const release = releases ? grant.owner.steps.find(({ step }) => step === 'release') : undefined
    const endBy = release?.sentAt ?? Infinity
    const evictions = excuses ? round.evictions.of(key, grant.number) : []
    for (const [index, epoch] of epochs.entries()) {
      const firm = grant.confirmed.filter((step) => step.sentAt >= epoch.from && step.repliedAt <= epoch.to)
      const first = firm[0]
      if (!first) continue
      const ends = firm.map(({ sentAt, leaseMs }) => {
        const to = Math.min(sentAt + shortest(leaseMs), endBy, epoch.to)
        const evicted = evictions.find((eviction) => touches(eviction, { from: sentAt, to }))
        return Math.max(sentAt, Math.min(to, evicted?.from ?? Infinity))
      })
      result.push({ grant, by: first.by, epoch: index, from: first.repliedAt, to: Math.max(...ends) })
    }
  }
  return result.sort((a, b) => a.epoch - b.epoch || a.grant.number - b.grant.number || a.from - b.from)
}

/** The last word of the store about a grant that its client had heard by then. */
export function heardBy(grant: Grant | null, at: number): Step | null {
  let last: Step | null = null
  for (const step of grant?.confirmed ?? []) {
    if (step.repliedAt <= at && (!last || wordDue(step) > wordDue(last))) last = step
  }
  return last
}

/** When a client that has heard nothing since must have stopped to believe in it (`docs/guarantees.md`, the margin). */
export function wordDue({ sentAt, leaseMs }: Step): number {
  return sentAt + leaseMs - Math.min(Math.max(0.05 * leaseMs, 50), 0.25 * leaseMs)
}
