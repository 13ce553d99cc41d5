import { type Certain, certainties, longest } from './certainty.ts'
import type { Findings } from './findings.ts'
import type { Round } from './round.ts'
import { type Span, touches } from './span.ts'
import type { Owner, Step } from './store-view.ts'

/** The store says yes to a renewal or a release only if its sender holds the key. */
export function ownerOnly(round: Round, findings: Findings): void {
  const certain = new Map<string, Certain[]>()
  for (const owner of round.store.owners.values()) {
    const { key } = owner
    if (!certain.has(key))
      certain.set(
        key,
        certainties(round, key, true).sort((a, b) => a.from - b.from),
      )
    for (const step of owner.steps) {
      if (step.step === 'acquire' || step.answer === null || step.answer === 'no') continue
      const why = whyNot(round, owner, step) ?? heldByOther(step, certain.get(key) ?? [])
      if (!why) continue
      const message = `the store said yes to a ${step.step} of "${key}" by ${step.by}, ${why.reason}`
      const workers = [step.by, ...(why.other === null ? [] : [why.other])]
      findings.fail('G4', message, { key, from: why.since, to: step.repliedAt, workers })
    }
  }
}

interface Why {
  readonly reason: string
  readonly since: number
  readonly other: string | null
}

function whyNot(round: Round, owner: Owner, yes: Step): Why | null {
  const { steps } = owner
  const acquires = steps.filter(({ step, sentAt }) => step === 'acquire' && sentAt < yes.repliedAt)
  if (acquires.length === 0) return { reason: 'which never asked for it', since: yes.sentAt, other: null }
  const isVoid = (since: number): boolean =>
    round.losses.some((loss) => touches(loss, { from: since, to: yes.repliedAt }))
  const freed = steps.find(
    ({ step, answer, repliedAt }) => step === 'release' && answer === 'yes' && repliedAt < yes.sentAt,
  )
  // Unless an ask came after that, late or again.
  if (freed && !acquires.some((ask) => ask.repliedAt > freed.sentAt) && !isVoid(freed.sentAt)) {
    return { reason: 'which had released it', since: freed.repliedAt, other: null }
  }
  const evicted = evictionBefore(round, owner, yes)
  if (evicted && !isVoid(evicted.from)) {
    return { reason: 'after it had been freed by force', since: evicted.to, other: null }
  }
  const over = latestEnd(steps, yes)
  if (over < yes.sentAt && !isVoid(over))
    return { reason: 'whose lease had run out', since: over, other: null }
  return null
}

/** One whose outcome is not known may have done nothing. */
function evictionBefore(round: Round, { key, owner, steps }: Owner, yes: Step): Span | undefined {
  const before = (number: number): Span[] =>
    round.evictions.of(key, number).filter(({ to, grant }) => grant !== null && to < yes.sentAt)
  if (typeof yes.answer === 'number') return before(yes.answer)[0]
  // A release does not name the grant: one of an ask that came after the eviction is another.
  const grants = (round.store.grants.get(key) ?? []).filter((grant) => grant.owner.owner === owner)
  return grants
    .flatMap(({ number }) => before(number))
    .find(({ from }) =>
      steps.every(({ step, sentAt, repliedAt }) => {
        return step !== 'acquire' || sentAt > yes.repliedAt || repliedAt < from
      }),
    )
}

/** By when the lease must have run out, if `yes` had not renewed it. */
function latestEnd(steps: readonly Step[], yes: Step): number {
  const before = steps.filter(
    (step) => step !== yes && step.step !== 'release' && step.sentAt < yes.repliedAt,
  )
  const ends = before.map(({ answer, repliedAt, leaseMs }) =>
    answer === 'no' ? 0 : repliedAt + longest(leaseMs),
  )
  return Math.max(...ends)
}

/** `certain` is in the order of time, and then at most one can be around the whole call. */
function heldByOther(yes: Step, certain: readonly Certain[]): Why | null {
  if (yes.step !== 'release') return null // Of a renewal, G1 says so.
  let low = 0
  for (let high = certain.length; low < high;) {
    const middle = (low + high) >> 1
    if ((certain[middle] as Certain).from <= yes.sentAt) low = middle + 1
    else high = middle
  }
  const holder = certain[low - 1]
  if (!holder || holder.to < yes.repliedAt || holder.grant.owner.owner === yes.owner) return null
  return { reason: `while ${holder.by} held it`, since: yes.sentAt, other: holder.by }
}
