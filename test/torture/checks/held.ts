import type { Attempt } from './round.ts'

/**
 * Until when it was held for certain, as its holder saw it; null if it never looked. `held` turns false once, so that
 * it was held from the grant until it was last seen so; and who releases in time held it until then.
 */
export function heldUntil({ acts, releaseAt, released }: Attempt): number | null {
  if (released?.ok && releaseAt !== null) return releaseAt
  return acts.findLast(({ held }) => held)?.at ?? null
}
