import type { Attempt } from '../attempt.ts'
import type { ModelRecord } from '../model-store.ts'
import type { OwnerBook } from '../ledger.ts'
import type { Call } from '../network.ts'
import type { Invariant, Scene } from '../scene.ts'
import { timerSlackMs } from './slack.ts'

/** The first and the longest pause between two attempts to take a leftover back. */
const FIRST_GAP_MS = 200
const LONGEST_GAP_MS = 5000

/**
 * A record that nobody holds is taken back soon, not left to its lease: the reply of its acquire was
 * lost, its asker gave up, or its release did not arrive. Only calm weather counts. A crashed process
 * takes nothing back, and no client can know of a message that comes a second time, or comes after its
 * lease would have ended.
 */
export function nothingStranded({ world, schedule, network, ledger, weather, fail }: Scene): Invariant {
  const { server } = network

  /**
   * Owners whom the store may have still, and since when: their holder left what it had lost without a
   * word from the store, or the last to wait gave up with an ask under way.
   */
  const leftBehind = new Map<OwnerBook, number>()
  /** The last release of a process, while it is not answered: then it tries no other in vain. */
  const unanswered = new Map<number, Call>()
  const answeredAt = new Map<number, number>()
  /** The last owner that a process asked as for a key. */
  const lastAsked = new Map<string, OwnerBook>()

  return {
    hear(fact) {
      if (fact.is === 'left') hearLeft(fact.attempt)
      if (fact.is === 'settled' && !fact.attempt.lease) hearGaveUp(fact.attempt)
      if (fact.is === 'answered' && unanswered.get(fact.call.process) === fact.call) {
        unanswered.delete(fact.call.process)
        answeredAt.set(fact.call.process, world.time)
      }
      if (fact.is !== 'sent') return
      if (fact.call.step === 'release') unanswered.set(fact.call.process, fact.call)
      for (const { key, owner } of fact.call.items) {
        const book = ledger.owners.get(owner)
        if (!book || fact.call.step === 'renew') continue
        leftBehind.delete(book)
        if (fact.call.step === 'acquire') lastAsked.set(`${fact.call.process} ${key}`, book)
      }
      if (fact.call.step !== 'renew') return
      for (const { owner, key } of fact.call.items) {
        const book = ledger.owners.get(owner)
        if (book && !ledger.isInHands(book)) checkRenewal(book, key)
      }
    },
    look() {
      for (const [book, since] of leftBehind) checkLeftBehind(book, since)
      for (const record of server.store.records.values()) {
        if (record.expiresAt > server.clockAt(world.time)) checkRecord(record)
      }
    },
    end() {
      for (const record of server.store.records.values()) {
        if (record.expiresAt > server.clockAt(world.time)) {
          fail('G5', `${record.key} is still held by ${record.owner} after everything has ended`)
        }
      }
    },
  }

  function hearLeft(attempt: Attempt): void {
    const book = ledger.bookOf(attempt)
    const isLost = attempt.toldAt !== undefined && !attempt.reenters
    if (book && isLost && !book.refused && !book.disturbed) leftBehind.set(book, world.time)
  }

  function hearGaveUp({ key, process }: Attempt): void {
    for (const other of ledger.waiting) {
      if (other.key === key && other.process === process && !other.reenters) return
    }
    const book = lastAsked.get(`${process.index} ${key}`)
    if (book?.inHandsAt === undefined && book && !ledger.isInHands(book)) leftBehind.set(book, world.time)
  }

  function checkLeftBehind(book: OwnerBook, since: number): void {
    const { process } = book
    // One who came in that moment may have it by the ask of who gave up.
    if (process.crashed || ledger.closing.has(process.index) || ledger.isInHands(book)) {
      leftBehind.delete(book)
      return
    }
    if (unanswered.has(process.index)) return
    // First the ask runs into its limit; then the release may have to queue behind calls that hang.
    const from = Math.max(since, process.busyUntil, answeredAt.get(process.index) ?? 0)
    const waitedMs = (world.time - from) * process.plan.clockRate
    const isThere = server.store.held(book.key)?.owner === book.owner && !ledger.isBeyondKnowing(book)
    if (isThere && waitedMs > 3 * process.plan.callTimeout + FIRST_GAP_MS + timerSlackMs(process)) {
      fail('G5', `${book.key} was left as ${book.owner} without taking back what may remain of it`)
    }
  }

  function checkRecord({ key, owner, leaseMs }: ModelRecord): void {
    const book = ledger.owners.get(owner)
    const grantedAt = book?.grantedAt ?? 0
    if (!book || book.process.crashed || ledger.isBeyondKnowing(book) || ledger.isInHands(book)) return
    const { process } = book
    // Nobody is left to take it back; what `close` itself must take back is G12's business.
    if (ledger.closed.has(process.index)) return
    const { callTimeout, clockRate, poll } = process.plan
    const firstAsk = book.asks[0]?.sentAt ?? 0
    // A waiter may still come back for it; else it is taken back: one call that was lost, one that is not.
    const comeBackMs = book.inHandsAt === undefined ? poll.max + callTimeout : 0
    const calls = (comeBackMs + 2 * callTimeout) / clockRate + 6 * schedule.network.latencyMs[1]
    if (world.time - grantedAt <= calls) return
    // What `atLeast` keeps outlives the client.
    if (book.keptUntil > 0 && ledger.closing.has(process.index)) return
    const calmSince = weather.calmSince(process.index, world.time)
    const since = Math.max(grantedAt, book.inHandsAt ?? 0, book.keptUntil, calmSince, process.busyUntil)
    // The pauses between the calls double, so none is longer than all that went before.
    const triedMs = (since - (book.inHandsAt ?? firstAsk)) * clockRate
    const gapMs = Math.min(triedMs + FIRST_GAP_MS, LONGEST_GAP_MS)
    if (world.time - since > calls + gapMs / clockRate + timerSlackMs(process)) {
      fail('G5', `${key} has been held by ${owner} for nobody since ${since.toFixed(0)}, lease ${leaseMs} ms`)
    }
  }

  function checkRenewal(book: OwnerBook, key: string): void {
    const { process, inHandsAt, keptUntil } = book
    const idleMs =
      (world.time - Math.max(inHandsAt ?? 0, keptUntil, process.busyUntil)) * process.plan.clockRate
    // A renewal may have been queued behind a call that hangs when its lease was given back.
    const longestMs = process.plan.callTimeout + timerSlackMs(process) + process.stalledMs
    if (inHandsAt === undefined || idleMs > longestMs) {
      fail('G5', `${key} is renewed as ${book.owner} although nobody holds it`)
    }
  }
}
