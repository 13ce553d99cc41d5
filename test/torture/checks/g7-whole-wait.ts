import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** Timers are never early by the clock that they go by, which is the one of the history. */
const SLACK_MS = 5
/** Somebody else may give the key back, and a store that is out of reach may come back: both are waited for. */
const MAY_PASS: readonly string[] = ['LOCK_ACQUIRE_TIMEOUT', 'STORE_UNAVAILABLE']

/** Nobody who waits is turned away before its time for what may pass. One who enters again does not wait. */
export function wholeWait(round: Round, findings: Findings): void {
  for (const { by, how, keys, askedAt, waitMs, refused } of round.attempts) {
    if (how === 're-enter' || !refused || !MAY_PASS.includes(refused.code)) continue
    const earlyMs = askedAt + waitMs - refused.at
    if (earlyMs <= SLACK_MS) continue
    const message = `${by} was refused "${keys.join('", "')}" with ${refused.code} ${Math.round(earlyMs)} ms before its wait was over`
    findings.fail('G7', message, { key: keys[0] ?? null, from: askedAt, to: refused.at, workers: [by] })
  }
}
