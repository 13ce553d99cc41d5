import type { Attempt } from '../attempt.ts'
import type { Invariant, Scene } from '../scene.ts'

/** Tokens of a key rise: at the server, in each process, and from holder to holder everywhere. */
export function risingTokens({ ledger, fail }: Scene): Invariant {
  const lastGrant = new Map<string, number>()
  const lastToken = new Map<string, { token: bigint; name: string }>()
  const seen = new Map<Attempt, bigint>()

  return {
    hear(fact) {
      if (fact.is === 'granted' || (fact.is === 'renewed' && fact.rotated)) {
        const last = lastGrant.get(fact.key) ?? 0
        if (fact.grant <= last) fail('G3', `the store minted ${fact.grant} for ${fact.key} after ${last}`)
        lastGrant.set(fact.key, fact.grant)
      }
      if (fact.is === 'entered') checkEntry(fact.attempt, fact.token)
      if (fact.is === 'left') seen.delete(fact.attempt)
    },
    look() {
      for (const attempt of ledger.inside) checkSteady(attempt)
    },
  }

  function checkEntry(attempt: Attempt, token: bigint): void {
    const { name, key, process, outer } = attempt
    seen.set(attempt, token)
    const book = ledger.bookOf(attempt)
    if (book?.process !== process)
      return fail('G3', `${name} got token ${token}, which the store never gave its process`)
    if (attempt.reenters) {
      if (outer?.lease && token !== outer.lease.token) fail('G3', `${name} re-entered with another token`)
      return
    }
    // A holder that was robbed, or misjudges time, may come after its successor; never in its own process.
    const places =
      process.isSteady && !book.disturbed ? [key, `${key} ${process.index}`] : [`${key} ${process.index}`]
    for (const place of places) {
      const last = lastToken.get(place)
      if (last && token <= last.token)
        fail('G3', `${name} got token ${token} after ${last.name} had ${last.token}`)
    }
    for (const place of [key, `${key} ${process.index}`]) {
      const last = lastToken.get(place)
      if (!last || token > last.token) lastToken.set(place, { token, name })
    }
  }

  function checkSteady(attempt: Attempt): void {
    const before = seen.get(attempt)
    const token = attempt.lease?.token
    if (before === undefined || token === undefined || token === before) return
    seen.set(attempt, token)
    if (token < before) fail('G3', `the token of ${attempt.name} fell from ${before} to ${token}`)
    // A holder that was robbed, or misjudged time, may have got the key again by a call long given up.
    const regranted = ledger.bookOf(attempt)?.disturbed === true || !attempt.process.isSteady
    if (attempt.root.options.rotateToken === undefined && !regranted)
      fail('G3', `the token of ${attempt.name} changed by itself`)
  }
}
