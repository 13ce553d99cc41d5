import type { Answer, Ask, Fault, Renewal, RenewalAnswer } from '../../store.ts'
import { answersTo, type Houses, isDenied, isFault, isGranted, lostMeanwhile, notRaised } from './batches.ts'
import type { Copies } from './copies.ts'
import { type Half, takeBack } from './take-back.ts'
import type { Side } from './watch.ts'

/** `raiseTo` is 0 where there is nothing to raise. */
type Raise = Renewal & { readonly raiseTo: number }

/**
 * Asks `from`, then `to`, always in this order. Then it raises `to`, and after it `from`, to one number, and only then
 * gives that out: whoever asks for the same owner meanwhile, in the opposite order, comes to the same number.
 */
export async function acquireBoth(
  { from, to }: Houses,
  asks: readonly Ask[],
  copies: Copies,
  denied: (key: string, by: Side) => void,
): Promise<(Answer | Fault)[]> {
  const inFrom = await answersTo<Ask, Answer>(asks, (all) => from.acquire(all))
  const inTo = await answersTo<Ask, Answer>(
    asks,
    (some) => to.acquire(some),
    (index) => isGranted(inFrom[index]),
  )
  const partial: Half[] = []
  const raises = asks.map(({ key, owner, leaseMs }, index): Raise => {
    const [one, two] = [inFrom[index], inTo[index]]
    if (isDenied(one)) denied(key, 'from')
    if (isDenied(two)) denied(key, 'to')
    let raiseTo = 0
    if (isGranted(one) && isGranted(two)) {
      raiseTo = numberFor(one.grant, two.grant)
      copies.full(owner, raiseTo || one.grant)
    } else if (isGranted(one) && !copies.isFull(owner, one.grant)) {
      partial.push({ key, grant: one.grant })
    }
    return { key, owner, leaseMs, raiseTo }
  })
  const isLower = (index: number): boolean => {
    const answer = inTo[index]
    return isGranted(answer) && answer.grant < (raises[index]?.raiseTo ?? 0)
  }
  const raising = async (): Promise<(Fault | undefined)[]> => {
    const faultsIn = async (step: typeof from.renew, picked: (index: number) => boolean) => {
      const answers = await answersTo<Raise, RenewalAnswer>(raises, step, picked)
      return answers.map((answer, index) => faultOf(answer, raises[index] as Raise))
    }
    const faults = await faultsIn((some) => to.renew(some), isLower)
    const isNext = (index: number): boolean => !faults[index] && (raises[index]?.raiseTo ?? 0) > 0
    const others = await faultsIn((some) => from.renew(some), isNext)
    return raises.map((_, index) => faults[index] ?? others[index])
  }
  const [faults] = await Promise.all([raising(), takeBack(from, partial)])
  return asks.map((_, index): Answer | Fault => {
    const [one, two] = [inFrom[index], inTo[index]]
    if (!isGranted(one) || !isGranted(two)) return two ?? one ?? { error: new Error('no answer') }
    const grant = raises[index]?.raiseTo || one.grant
    return faults[index] ?? { granted: true, grant, previous: one.previous ?? two.previous }
  })
}

/**
 * Higher than what `from` gave: an undoing that goes by that number, and is late, finds another. Alike they are if the
 * owner was given the key before: it keeps its number.
 */
function numberFor(from: number, to: number): number {
  if (from === to) return 0
  return to > from ? to : from + 1
}

/** Core asks again, or releases, what it is not sure of. */
function faultOf(answer: RenewalAnswer | Fault | undefined, { key, raiseTo }: Raise): Fault | undefined {
  if (!answer || isFault(answer)) return answer
  if (!answer.renewed) return lostMeanwhile(key)
  return answer.grant < raiseTo ? notRaised(key) : undefined
}
