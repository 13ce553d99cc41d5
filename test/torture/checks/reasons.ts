import { HEARD_MS, wordDue } from './certainty.ts'
import type { Attempt, Round } from './round.ts'
import { touches } from './span.ts'
import type { Grant, Step } from './store-view.ts'

/** Core reads the clock before the call is written down, and a machine may have other work in between. */
const EARLY_MS = 500

/** Whether anything may have told `attempt` by then that it is lost; of several keys, one is enough. */
export function mayBeLost(round: Round, attempt: Attempt, at: number): boolean {
  const { by, keys, tokens } = attempt
  if (at >= (round.workers.get(by)?.closingAt ?? Infinity)) return true
  return keys.some((key, i) => {
    const number = Number((tokens[i] ?? 0n) / 1024n)
    const grant = round.store.grant(key, number)
    const first = grant?.confirmed[0]
    // One that no store gave is told by the other checks of G2.
    if (!grant || !first || at >= heldUntil(round, grant, at) - EARLY_MS) return true
    const since = { from: first.sentAt, to: at }
    return (
      grant.owner.steps.some((step) => endsIt(step, at)) ||
      [...round.losses, ...round.evictions.of(key, number)].some((excuse) => touches(excuse, since))
    )
  })
}

function endsIt({ step, answer, sentAt, repliedAt }: Step, at: number): boolean {
  return step === 'release' ? sentAt < at : step === 'renew' && answer === 'no' && repliedAt <= at
}

/** When the word of a loss was due, by what the client has certainly heard until then, and in time. */
function heldUntil(round: Round, { confirmed }: Grant, at: number): number {
  let due = -Infinity
  for (const step of confirmed) {
    if (step.repliedAt > at) break
    const isCertain = isHeard(round, step)
    if (step === confirmed[0]) due = isCertain ? wordDue(step) : -Infinity
    // Who hears of it when the word is due has lost it all the same.
    else if (isCertain && step.repliedAt < due - EARLY_MS) due = Math.max(due, wordDue(step))
  }
  return due
}

function isHeard(round: Round, { by, sentAt, repliedAt }: Step): boolean {
  if (repliedAt - sentAt >= HEARD_MS) return false
  const sending = { from: sentAt - EARLY_MS, to: sentAt + EARLY_MS }
  return !round.stillness(by).some((still) => touches(still, sending))
}
