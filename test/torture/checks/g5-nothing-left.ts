import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** When all have closed and the leases of the dead have run out, no key is held: that would be for nobody. */
export function nothingLeft({ left }: Round, findings: Findings): void {
  for (const { at, keys } of left) {
    for (const key of keys) findings.fail('G5', `"${key}" is still held, for nobody`, { key, from: at })
  }
}
