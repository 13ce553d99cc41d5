import { LockError } from '../../../src/errors.ts'
import type { ReleaseAnswer } from '../../../src/store.ts'
import type { Attempt } from '../attempt.ts'
import type { NetworkFact } from '../facts.ts'
import type { Invariant, Scene } from '../scene.ts'

/** How a call may end without ever having had a lease. */
const UNGRANTED = ['LOCK_ACQUIRE_TIMEOUT', 'STORE_UNAVAILABLE', 'LOCK_ABORTED', 'CLOSED', 'null']

/**
 * Loss is a value: `release` never rejects because of it, `using` rejects with LOCK_LOST if its body
 * ended after a loss and only then, and the body's own error comes out whatever else happened.
 */
export function outcomes({ ledger, fail }: Scene): Invariant {
  const whenLeft = new Map<Attempt, { readonly lost: boolean; readonly stalledMs: number }>()
  /** Owners of whom the store said at a release that it does not have them: perhaps the second time. */
  const missed = new Set<string>()
  /** What owners were told at their first release. */
  const answered = new Map<string, boolean>()

  return {
    hear(fact) {
      if (fact.is === 'left') whenLeft.set(fact.attempt, stateOf(fact.attempt))
      if (fact.is === 'release-missed') missed.add(fact.owner)
      if (fact.is === 'answered' && fact.call.step === 'release') hearReleases(fact)
      if (fact.is === 'settled') checkOutcome(fact.attempt)
    },
  }

  function hearReleases({ call, answers }: NetworkFact & { is: 'answered' }): void {
    call.items.forEach(({ owner }, i) => {
      const { released } = (answers[i] ?? {}) as Partial<ReleaseAnswer>
      if (released !== undefined && !answered.has(owner)) answered.set(owner, released)
    })
  }

  function stateOf(attempt: Attempt): { lost: boolean; stalledMs: number } {
    const { process, signal } = attempt
    const deadline = ledger.bookOf(attempt)?.deadline ?? Infinity
    const told = signal?.aborted === true && (signal.reason as LockError).code === 'LOCK_LOST'
    return { lost: told || process.clockAt(process.time) >= deadline, stalledMs: process.stalledMs }
  }

  function checkOutcome(attempt: Attempt): void {
    const { name, outcome, userError, options, how, process } = attempt
    if (!attempt.lease) return checkUngranted(attempt)
    const book = ledger.bookOf(attempt)
    const left = whenLeft.get(attempt)
    // Known to the store, and so told at the release, but not here when the body ended.
    const untold = !book || book.disturbed || book.refused || missed.has(book.owner)
    // Core itself may have been held up before it looked; and a client that closes renews no more.
    const stalled = left?.stalledMs !== process.stalledMs || ledger.closing.has(process.index)
    const lost = left?.lost ? 'yes' : untold || stalled ? 'maybe' : 'no'
    if (userError) {
      if (outcome !== 'user error') fail('G6', `the error of ${name}'s body came out as ${outcome}`)
    } else if (how === 'using') {
      const ok = outcome === 'ok' && (lost !== 'yes' || options.onLost === 'ignore')
      const told = outcome === 'LOCK_LOST' && lost !== 'no' && options.onLost !== 'ignore'
      if (!ok && !told) fail('G6', `${name} ended with ${outcome}; lost when its body ended: ${lost}`)
    } else if (outcome !== 'ok') {
      fail('G6', `${name} ended with ${outcome}`)
    }
    checkRelease(attempt, lost)
  }

  function checkRelease(attempt: Attempt, lost: 'yes' | 'no' | 'maybe'): void {
    const { name, released, process } = attempt
    if (attempt.how === 'using') return
    if (attempt.releasedAgain !== 'LOCK_NOT_HELD') {
      fail('G6', `a second release() of ${name} said ${attempt.releasedAgain}`)
    }
    const closing = ledger.closing.has(process.index)
    // `close` has released it already, and a call that was not answered is no loss.
    if (released === 'LOCK_RELEASE_FAILED' || (released === 'LOCK_NOT_HELD' && closing)) return
    if (released === 'true' && lost === 'yes') fail('G6', `release() of ${name} said true after a loss`)
    if (released === 'true' && answered.get(ledger.bookOf(attempt)?.owner ?? '') === false)
      fail('G6', `release() of ${name} said true where the store had said that it was gone`)
    if (released !== 'true' && released !== 'false')
      fail('G6', `release() of ${name} rejected with ${released}`)
  }

  function checkUngranted(attempt: Attempt): void {
    const { name, outcome, outer, options, giveUpAfter, process } = attempt
    // Inside a section that has been lost or has ended there is nothing to enter.
    const expected = outer ? [...UNGRANTED, 'LOCK_LOST', 'LOCK_NOT_HELD', 'DEADLOCK'] : UNGRANTED
    // A body does not even begin if its lease ran out while the process was held up.
    const lostBefore = outcome === 'LOCK_LOST' && attempt.stalledMs !== process.stalledMs
    if (!expected.includes(outcome) && !lostBefore) fail('G6', `${name} ended with ${outcome}`)
    if ((outcome === 'DEADLOCK') !== (outer !== null && options.reentrant === false)) {
      if (outcome !== 'CLOSED')
        fail('G10', `${name} ended with ${outcome} inside ${outer?.name}, reentrant: false`)
    }
    if (outcome === 'CLOSED' && !ledger.closing.has(process.index)) fail('G6', `${name} was told CLOSED`)
    if (outcome === 'LOCK_ABORTED' && giveUpAfter === undefined) fail('G6', `${name} was told LOCK_ABORTED`)
  }
}
