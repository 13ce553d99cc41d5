import type { Findings } from './findings.ts'
import { Possessions } from './possession.ts'
import type { Round } from './round.ts'
import { outside, type Span, union } from './span.ts'

/** A poll, half a second at most, and a call, three at most; and more, for a machine that has much to do. */
const WOKEN_MS = 5000

/** Who waits for a key that has come free asks for it soon, whether or not anybody told: else nobody holds what all want. */
export function woken(round: Round, findings: Findings): void {
  const possessions = new Possessions(round)
  for (const { by, how, keys, askedAt, waitMs, grantedAt, refused } of round.attempts) {
    // Those who take several wait for one after the other.
    if (waitMs === 0 || (how !== 'acquire' && how !== 'using')) continue
    const key = keys[0] ?? ''
    const worker = round.workers.get(by)
    const answeredAt = grantedAt ?? refused?.at ?? worker?.died?.at ?? round.endAt
    const end = Math.min(answeredAt, askedAt + waitMs)
    const idle = union([...round.faultsOn(by), ...round.stillness(by)])
    for (const free of possessions.free(key)) {
      const waited: Span = { from: Math.max(free.from, askedAt), to: Math.min(free.to, end) }
      if (waited.to - waited.from <= WOKEN_MS || outside(waited, idle) <= WOKEN_MS) continue
      const message = `${by} waited for "${key}" while nobody held it, for ${Math.round(waited.to - waited.from)} ms`
      findings.fail('G8', message, { key, ...waited, workers: [by] })
    }
  }
}
