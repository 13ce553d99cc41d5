import type { Attempt } from '../attempt.ts'
import type { Invariant, Scene } from '../scene.ts'

/**
 * Whoever reads `held === true` has the record at the server in force, so no two can at one instant,
 * wherever they run. Asked of paused processes too: their clocks go on, and `held` is computed.
 *
 * Not promised once an operator or an amnesia of the store took the key away, nor to a process whose
 * clock is further off than the margin allows. That the server itself has one owner per key needs no
 * check here: the model has one record per key.
 */
export function exclusion({ ledger, network, fail }: Scene): Invariant {
  const { store } = network.server

  return {
    look() {
      const holders = new Map<string, Attempt>()
      for (const attempt of ledger.inside) {
        const { process } = attempt
        if (process.crashed || !process.isSteady || !ledger.isHeld(attempt)) continue
        const book = ledger.bookOf(attempt)
        if (!book || book.disturbed) continue
        const record = store.held(attempt.key)
        if (record?.owner !== book.owner) {
          const instead = record ? `${record.owner} holds it` : 'it is free'
          fail(
            'G1',
            `${attempt.name} believes that it holds ${attempt.key} as ${book.owner}, but by the store ${instead}`,
          )
        }
        // Levels of one nested section share their hold.
        if (attempt.reenters) continue
        const other = holders.get(attempt.key)
        if (other) fail('G1', `${other.name} and ${attempt.name} both believe that they hold ${attempt.key}`)
        holders.set(attempt.key, attempt)
      }
    },
  }
}
