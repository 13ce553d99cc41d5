import type { Attempt, Round } from './round.ts'
import type { Step } from './store-view.ts'

/** What the store was told as the lease was given back, of each key. Nothing, if it was handed on inside the process. */
export function releasesOf({ store }: Round, { keys, tokens, releaseAt, released }: Attempt): Step[] {
  if (releaseAt === null || !released) return []
  return keys.flatMap((key, i) => {
    const grant = store.grant(key, Number((tokens[i] ?? 0n) / 1024n))
    const steps = grant?.owner.steps ?? []
    return steps.filter(
      ({ step, sentAt }) => step === 'release' && sentAt >= releaseAt && sentAt <= released.at,
    )
  })
}
