import type { ReleaseAnswer } from '../../../src/store.ts'
import type { Attempt } from '../attempt.ts'
import type { NetworkFact } from '../facts.ts'
import type { Call } from '../network.ts'
import type { Invariant, Scene } from '../scene.ts'

/** Hand-offs under one grant end after this long, so a grant lasts for this and one body more. */
const LONGEST_SLICE_MS = 150

/** A process keeps a key to itself for a bounded time, and lets others ask first when they want it. */
export function noStarvation({ ledger, processes, fail }: Scene): Invariant {
  const firstEntry = new Map<string, number>()
  /** When a process learned that the key it gave back is wanted elsewhere. */
  const gaveBack = new Map<string, number>()
  /** Who held under an owner last. */
  const lastHolder = new Map<string, Attempt>()
  /** The first release of each owner; later ones take back what may be left. */
  const releases = new Map<string, Call>()

  return {
    hear(fact) {
      if (fact.is === 'entered' && !fact.attempt.reenters) checkSlice(fact.attempt, fact.token)
      if (fact.is === 'left') lastHolder.set(ledger.bookOf(fact.attempt)?.owner ?? '', fact.attempt)
      if (fact.is === 'sent' && fact.call.step === 'release') {
        for (const { owner } of fact.call.items) {
          if (!releases.has(owner)) releases.set(owner, fact.call)
        }
      }
      if (fact.is === 'answered' && fact.call.step === 'release') hearReleases(fact)
      if (fact.is === 'sent' && fact.call.step === 'acquire') {
        for (const { key } of fact.call.items) checkCourtesy(fact.call.process, key)
      }
    },
  }

  function checkSlice(attempt: Attempt, token: bigint): void {
    const owner = ledger.bookOf(attempt)?.owner ?? ''
    const { process } = attempt
    // Time that its own code lost counts for nothing: a slice is checked before, not after.
    const clock = process.clockAt(process.time - process.stalledMs)
    const first = firstEntry.get(owner)
    if (first === undefined) firstEntry.set(owner, clock)
    else if (clock - first > LONGEST_SLICE_MS) {
      fail(
        'G9',
        `${attempt.name} got token ${token} by hand-off ${(clock - first).toFixed(1)} ms into the grant`,
      )
    }
  }

  function hearReleases({ call, answers }: NetworkFact & { is: 'answered' }): void {
    const process = processes[call.process]
    if (!process) return
    call.items.forEach(({ key, owner }, i) => {
      // Past its limit an answer is not heard.
      const tookMs = (process.time - call.begunAt) * process.plan.clockRate
      if (releases.get(owner) !== call || tookMs > process.plan.callTimeout - 2) return
      const { released, wanted } = answers[i] as ReleaseAnswer
      // Whoever gives a key back waits for the answer; what was lost, or nobody's, is taken back later.
      const hadTurn = lastHolder.get(owner)?.settledAt === undefined && lastHolder.has(owner)
      if (released && wanted && hadTurn) gaveBack.set(`${call.process} ${key}`, process.time)
    })
  }

  function checkCourtesy(index: number, key: string): void {
    const process = processes[index]
    const since = gaveBack.get(`${index} ${key}`)
    if (!process || since === undefined) return
    gaveBack.delete(`${index} ${key}`)
    const { poll, clockRate } = process.plan
    const gapMs = (process.time - since) * clockRate
    if (gapMs >= Math.min(poll.min, poll.max / 2) - 1) return
    // Nobody loses more than half of its wait to courtesy, and one try none; they may be gone by now.
    const isShort = (each: Attempt): boolean =>
      each.process === process &&
      each.key === key &&
      (each.settledAt ?? Infinity) >= since &&
      each.waitMs / 2 - 1 <= gapMs
    const isWanted = [...ledger.waiting].some((each) => each.process !== process && each.key === key)
    if (!isWanted || ledger.attempts.some(isShort)) return
    fail(
      'G9',
      `process ${index} asks for ${key} ${gapMs.toFixed(1)} ms after giving it back to those who want it`,
    )
  }
}
