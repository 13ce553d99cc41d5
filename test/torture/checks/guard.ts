import type { Findings } from './findings.ts'
import type { Round, Written } from './round.ts'

/** What the guard lets through never goes back, and it refuses nothing but what is late. */
export function guard({ written }: Round, findings: Findings): void {
  const { figures } = findings
  const guarded = new Map<string, Written>()
  const unguarded = new Map<string, bigint>()
  for (const write of written) {
    const { at, key, worker, guarded: answer } = write
    const token = BigInt(write.token)
    const highest = guarded.get(key)
    const isLate = highest !== undefined && token < BigInt(highest.token)
    if (answer === 'taken') figures.guardedTaken += 1
    else figures.guardedStale += 1
    if (isLate !== (answer === 'stale')) {
      findings.fail(
        'guard',
        `the guard of "${key}" said "${answer}" to token ${token} of ${worker} after ${highest?.token ?? 'nothing'}`,
        { key, from: highest?.at ?? at, to: at, workers: [worker, ...(highest ? [highest.worker] : [])] },
      )
    }
    if (!isLate) guarded.set(key, write)
    if (token < (unguarded.get(key) ?? 0n)) figures.unguardedWentBack += 1
    unguarded.set(key, token)
  }
}
