import type { Attempt } from '../attempt.ts'
import type { Invariant, Scene } from '../scene.ts'
import { timerSlackMs } from './slack.ts'

/**
 * Every call is settled by the end of its wait, whatever the store does, and not before it without an
 * answer; and nobody is told that the store is down while it is not. Unhandled rejections, and calls
 * after the store is back, are watched by the run itself.
 */
export function calm({ world, ledger, weather, schedule, fail }: Scene): Invariant {
  return {
    hear(fact) {
      if (fact.is === 'settled' && !fact.attempt.lease) checkTiming(fact.attempt)
    },
    look() {
      for (const attempt of ledger.waiting) {
        if (attempt.process.crashed) continue
        const { process, name, outer } = attempt
        const stalledMs = (process.stalledMs - attempt.stalledMs) * process.plan.clockRate
        const overdueMs = waitedMs(attempt) - longestMs(attempt) - stalledMs
        // After a pause a call that waited to be sent has its time limit still before it.
        const onceMs = attempt.waitMs === 0 ? longestMs(attempt) / process.plan.clockRate : 0
        const awakeMs = world.time - process.busyUntil - onceMs
        if (Math.min(overdueMs, awakeMs) > timerSlackMs(process) && !outer) {
          fail('G7', `${name} should have been settled ${overdueMs.toFixed(1)} ms ago`)
        }
      }
    },
  }

  function longestMs({ waitMs, giveUpAfter = Infinity, process }: Attempt): number {
    // One try ends with its answer, or with the limit of a call: its own, and that of the call before
    // it, if it had to queue.
    return Math.min(waitMs === 0 ? 2 * process.plan.callTimeout : waitMs, giveUpAfter)
  }

  function waitedMs({ process, askedAt }: Attempt): number {
    return (process.time - askedAt) * process.plan.clockRate
  }

  function checkTiming(attempt: Attempt): void {
    const { name, outcome, waitMs, giveUpAfter = 0, process, askedAt } = attempt
    const waited = waitedMs(attempt)
    // setTimeout may fire up to a millisecond early.
    if (outcome === 'LOCK_ACQUIRE_TIMEOUT' || outcome === 'STORE_UNAVAILABLE') {
      if (waited < waitMs - 1)
        fail('G7', `${name} gave up after ${waited.toFixed(1)} of ${waitMs} ms: ${outcome}`)
    }
    if (outcome === 'LOCK_ABORTED' && waited < giveUpAfter - 1) fail('G7', `${name} was aborted too early`)
    if (outcome !== 'STORE_UNAVAILABLE') return
    const roundTrips = (4 * process.plan.callTimeout) / process.plan.clockRate
    const calmMs = Math.min(askedAt, world.time) - weather.calmSince(process.index, world.time)
    const tooShort = waitMs > 0 && waitMs < 4 * schedule.network.latencyMs[1] * process.plan.clockRate + 2
    if (calmMs > roundTrips && !tooShort) fail('G7', `${name} was told STORE_UNAVAILABLE in calm weather`)
  }
}
