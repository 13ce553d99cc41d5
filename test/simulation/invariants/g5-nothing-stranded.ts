import type { ModelRecord } from '../model-store.ts'
import type { OwnerBook } from '../ledger.ts'
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

  return {
    hear(fact) {
      if (fact.is !== 'sent' || fact.call.step !== 'renew') return
      for (const { owner, key } of fact.call.items) {
        const book = ledger.owners.get(owner)
        if (book && !isInHands(book)) checkRenewal(book, key)
      }
    },
    look() {
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

  function isInHands({ key, owner }: OwnerBook): boolean {
    for (const attempt of ledger.inside) {
      if (attempt.key === key && ledger.bookOf(attempt)?.owner === owner) return true
    }
    return false
  }

  function checkRecord({ key, owner, leaseMs }: ModelRecord): void {
    const book = ledger.owners.get(owner)
    const grantedAt = book?.grantedAt ?? 0
    if (!book || book.process.crashed || book.grantedByCopy || isInHands(book)) return
    const { process } = book
    // Nobody is left to take it back; what `close` itself must take back is G12's business.
    if (ledger.closed.has(process.index)) return
    const { callTimeout, clockRate, poll } = process.plan
    const firstAsk = book.asks[0]?.sentAt ?? 0
    const lastAsk = book.asks.at(-1)?.sentAt ?? 0
    if (grantedAt - lastAsk >= (book.leaseMs + callTimeout) / clockRate) return
    // A waiter may still come back for it; else it is taken back, one call after another.
    const calls = (poll.max + 3 * callTimeout) / clockRate + 10 * schedule.network.latencyMs[1]
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
    if (inHandsAt === undefined || idleMs > process.plan.callTimeout + timerSlackMs(process)) {
      fail('G5', `${key} is renewed as ${book.owner} although nobody holds it`)
    }
  }
}
