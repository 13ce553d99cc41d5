import { LockError } from '../../../src/errors.ts'
import type { Attempt } from '../attempt.ts'
import type { Invariant, Scene } from '../scene.ts'
import { timerSlackMs } from './slack.ts'

const ROUNDING_MS = 1e-3

/**
 * The deadline is worked out here from the messages alone: send time + lease − margin of the last
 * call that the store confirmed to this process. Past it `held` is false at once, and `signal` is
 * aborted as soon as a timer can fire; before it nobody is told of a loss without a reason.
 */
export function earlyWord({ world, ledger, fail }: Scene): Invariant {
  const renewedAt = new Map<string, number>()
  /** Were told, or have read `held === false`. */
  const over = new Set<Attempt>()

  return {
    hear(fact) {
      if (fact.is === 'told') {
        over.add(fact.attempt)
        checkReason(fact.attempt)
      }
      if (fact.is === 'sent' && fact.call.step === 'renew') {
        for (const { owner } of fact.call.items) renewedAt.set(owner, fact.call.sentAt)
      }
    },
    look() {
      for (const attempt of ledger.inside) {
        if (attempt.process.crashed) continue
        checkDeadline(attempt)
        checkFinal(attempt)
        checkRenewing(attempt)
      }
    },
  }

  function checkDeadline(attempt: Attempt): void {
    const { process, signal, lease, name } = attempt
    const book = ledger.bookOf(attempt)
    if (!book || !lease || !signal) return
    const overdueMs = process.clockAt(process.time) - book.deadline
    if (overdueMs <= ROUNDING_MS) {
      const { remainingMs } = lease
      if (remainingMs > -overdueMs + ROUNDING_MS) {
        fail('G2', `${name} counts on ${remainingMs.toFixed(1)} ms, but has ${(-overdueMs).toFixed(1)} ms`)
      }
      if (book.surelyRefused && lease.held) fail('G2', `${name} reads held === true after the store said no`)
      return
    }
    const awakeMs = world.time - process.busyUntil
    if (!signal.aborted && Math.min(overdueMs, awakeMs) > timerSlackMs(process)) {
      fail('G2', `${name} was not told by the timer: its deadline was ${overdueMs.toFixed(1)} ms ago`)
    }
    if (ledger.isHeld(attempt))
      fail('G2', `${name} reads held === true ${overdueMs.toFixed(1)} ms after its deadline`)
  }

  /** Lost is lost: nothing that comes later brings a lease back. */
  function checkFinal(attempt: Attempt): void {
    if (ledger.closing.has(attempt.process.index)) return
    const held = ledger.isHeld(attempt)
    if (held && over.has(attempt)) fail('G2', `${attempt.name} reads held === true again after its loss`)
    if (!held && attempt.root.isRead) over.add(attempt)
  }

  function checkReason(attempt: Attempt): void {
    const { process, signal, name } = attempt
    const reason: unknown = signal?.reason
    if (ledger.closing.has(process.index)) return
    if (!(reason instanceof LockError) || reason.code !== 'LOCK_LOST') {
      fail('G2', `${name} was told ${String(reason)}, not LOCK_LOST`)
    }
    const book = ledger.bookOf(attempt)
    // Held up with a confirmation in hand, past the deadline before it: lost is lost.
    if (!book || book.refused || book.disturbed || process.paused) return
    const leftMs = book.sureDeadline - process.clockAt(process.time)
    if (leftMs > ROUNDING_MS)
      fail('G2', `${name} was told of a loss ${leftMs.toFixed(1)} ms before its deadline`)
  }

  /** A failed renewal is tried again until the deadline: no lease with time left is left alone. */
  function checkRenewing(attempt: Attempt): void {
    const { process, name, root } = attempt
    const book = ledger.bookOf(attempt)
    if (!book || root.options.renew === false || ledger.closing.has(process.index)) return
    const since = Math.max(renewedAt.get(book.owner) ?? 0, attempt.enteredAt ?? 0, process.busyUntil)
    const restMs = (world.time - since) * process.plan.clockRate
    // Due at a third of the lease; a call under way may first have to run into its limit.
    if (restMs <= book.leaseMs / 3 + 2 * process.plan.callTimeout + timerSlackMs(process)) return
    if (ledger.isHeld(attempt)) fail('G2', `${name} has not been renewed for ${restMs.toFixed(1)} ms`)
  }
}
