import { certainties } from './certainty.ts'
import type { Findings } from './findings.ts'
import type { Round } from './round.ts'
import { touches } from './span.ts'
import type { Owner, Step } from './store-view.ts'

/** The store does not say no to one who holds the key for certain, from before the call until after its reply. */
export function ownerRefused(round: Round, findings: Findings): void {
  for (const key of round.store.grants.keys()) {
    for (const { grant, from, to } of certainties(round, key, true, false)) {
      for (const step of grant.owner.steps) {
        if (step.answer !== 'no' || step.sentAt < from || step.repliedAt > to) continue
        if (mayBeReleased(round, grant.owner, step)) continue
        const message = `the store said no to a ${step.step} of "${key}" by ${step.by}, which held it (grant ${grant.number})`
        findings.fail('G4', message, { key, from: step.sentAt, to: step.repliedAt, workers: [step.by] })
      }
    }
  }
}

/** By the release itself too: a driver whose connection breaks may send it again, and the second finds nothing. */
function mayBeReleased(round: Round, { steps }: Owner, no: Step): boolean {
  const first = steps.find(({ step }) => step === 'release')
  if (no !== first) return first !== undefined && first.sentAt <= no.repliedAt
  const call = { from: no.sentAt, to: no.repliedAt }
  return round.faultsOn(no.by).some((fault) => touches(fault, call))
}
