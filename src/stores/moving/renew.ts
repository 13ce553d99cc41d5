import type { Fault, Renewal, RenewalAnswer } from '../../store.ts'
import { type Answers, answersTo, type Houses, isFault, notRaised } from './batches.ts'
import { type Half, takeBack } from './take-back.ts'

/** What both stores said: the numbers in force. A loss in one of them is a loss. */
type Both =
  | { readonly renewed: true; readonly from: number; readonly to: number }
  | { readonly renewed: false }
  | Fault

/** `isLeaving`: the owner is being released, which frees both. */
export async function renewBoth(
  houses: Houses,
  renewals: readonly Renewal[],
  isLeaving: (owner: string) => boolean,
): Promise<(RenewalAnswer | Fault)[]> {
  const answers = await inBoth(houses, renewals, isLeaving)
  // After a rotation, or one of which only a half was done.
  const uneven = renewals.flatMap(({ key, owner, leaseMs }, index) => {
    const answer = answers[index] as Both
    if (isFault(answer) || !answer.renewed || answer.from === answer.to) return []
    return [{ key, owner, leaseMs, raiseTo: Math.max(answer.from, answer.to) }]
  })
  const raised = await inBoth(houses, uneven, isLeaving)
  const byKey = new Map(uneven.map(({ key }, index) => [key, raised[index] as Both]))
  return renewals.map(({ key }, index) => {
    const before = answers[index] as Both
    const answer = byKey.get(key) ?? before
    if (isFault(answer) || !answer.renewed) return answer
    if (answer.from !== answer.to && isLower(answer, before)) return notRaised(key)
    // One that both remember.
    return { renewed: true, grant: Math.min(answer.from, answer.to) }
  })
}

function isLower(answer: { from: number; to: number }, before: Both): boolean {
  const goal = !isFault(before) && before.renewed ? Math.max(before.from, before.to) : 0
  return Math.min(answer.from, answer.to) < goal
}

/** What is lost in one of them is of no use in the other. */
async function inBoth(
  { from, to }: Houses,
  renewals: readonly Renewal[],
  isLeaving: (owner: string) => boolean,
): Promise<Both[]> {
  const [inFrom, inTo] = await Promise.all([
    answersTo<Renewal, RenewalAnswer>(renewals, (all) => from.renew(all)),
    answersTo<Renewal, RenewalAnswer>(renewals, (all) => to.renew(all)),
  ])
  const answers = renewals.map((_, index) => both(inFrom[index], inTo[index]))
  const leftIn = (half: Answers<RenewalAnswer>): Half[] =>
    renewals.flatMap(({ key, owner }, index) => {
      const [answer, mine] = [answers[index], half[index]]
      const isLost = answer && !isFault(answer) && !answer.renewed
      return isLost && mine && 'grant' in mine && !isLeaving(owner) ? [{ key, grant: mine.grant }] : []
    })
  await Promise.all([takeBack(from, leftIn(inFrom)), takeBack(to, leftIn(inTo))])
  return answers
}

function both(from: RenewalAnswer | Fault | undefined, to: RenewalAnswer | Fault | undefined): Both {
  for (const answer of [from, to]) if (answer && 'renewed' in answer && !answer.renewed) return answer
  for (const answer of [from, to]) if (answer && isFault(answer)) return answer
  if (from && to && 'grant' in from && 'grant' in to) return { renewed: true, from: from.grant, to: to.grant }
  return { error: new Error('no answer') }
}
