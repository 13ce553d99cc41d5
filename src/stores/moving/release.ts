import type { Claim, Fault, ReleaseAnswer, Renewal, RenewalAnswer } from '../../store.ts'
import { answersTo, ended, HOLD_UP_MS, type Houses, isFault } from './batches.ts'

/** A lease of no length: asks whether one is in force, and prolongs nothing. */
const LOOK_MS = 1

/**
 * `to` first: those who wait for a key mostly wait for it in `from`, and then find it free in both. It was in force if
 * it was so in both. Of two releases at once one may say so: the one that freed it in `to`, knowing that it was in force
 * in `from` just before.
 */
export async function releaseBoth(
  { from, to }: Houses,
  claims: readonly Claim[],
): Promise<(ReleaseAnswer | Fault)[]> {
  const looks = claims.map(({ key, owner }) => ({ key, owner, leaseMs: LOOK_MS }))
  const look = answersTo<Renewal, RenewalAnswer>(looks, (all) => from.renew(all))
  await ended(look, HOLD_UP_MS)
  const releaseTo = answersTo<Claim, ReleaseAnswer>(claims, (all) => to.release(all))
  await ended(releaseTo, HOLD_UP_MS)
  const inFrom = await answersTo<Claim, ReleaseAnswer>(claims, (all) => from.release(all))
  const [looked, inTo] = await Promise.all([look, releaseTo])
  return claims.map((_, index) => {
    const [before, one, two] = [looked[index], inFrom[index], inTo[index]]
    if (!one || isFault(one)) return one ?? { error: new Error('no answer') }
    if (!two || isFault(two)) return two ?? { error: new Error('no answer') }
    const wasInForce = !before || isFault(before) ? one.released : before.renewed
    return { released: wasInForce && two.released, wanted: one.wanted || two.wanted }
  })
}
