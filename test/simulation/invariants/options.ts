import type { Attempt } from '../attempt.ts'
import type { Invariant, Scene } from '../scene.ts'
import { timerSlackMs } from './slack.ts'

/** What `atLeast`, `renew: false` and `rotateToken` promise. */
export function options({ world, ledger, weather, fail }: Scene): Invariant {
  const lost = new Set<string>()
  /** Owners that were ever to be renewed, by their options or by `extend`. */
  const renewable = new Set<string>()
  const rotatedAt = new Map<Attempt, { token: bigint; time: number }>()

  return {
    hear(fact) {
      switch (fact.is) {
        case 'told':
          lost.add(ledger.bookOf(fact.attempt)?.owner ?? '')
          break
        case 'settled':
          hearEnd(fact.attempt)
          break
        case 'released':
          checkStay(fact.owner)
          break
        case 'entered':
          checkEntry(fact.attempt, fact.token)
          break
        case 'extending':
          renewable.add(ledger.bookOf(fact.attempt)?.owner ?? '')
          break
        case 'left':
          rotatedAt.delete(fact.attempt)
          hearLeft(fact.attempt)
          break
        case 'sent':
          if (fact.call.step === 'renew') for (const { owner } of fact.call.items) checkRenewal(owner)
          break
      }
    },
    look() {
      for (const attempt of rotatedAt.keys()) checkRotation(attempt)
    },
  }

  function checkEntry(attempt: Attempt, token: bigint): void {
    if (attempt.reenters) return
    const book = ledger.bookOf(attempt)
    const owner = book?.owner ?? ''
    const asked = book?.asks.at(-1)?.items.find((item) => item.owner === owner)?.leaseMs
    if (asked !== attempt.leaseMs)
      fail('lease', `${attempt.name} asked for ${attempt.leaseMs} ms and got ${asked} ms`)
    if (token % 1024n > 0n) checkStay(owner, attempt)
    if (attempt.options.renew !== false) renewable.add(owner)
    if (attempt.options.rotateToken !== undefined) rotatedAt.set(attempt, { token, time: world.time })
  }

  /** A lease may have run out a moment ago, before any timer could tell. */
  function hearLeft(attempt: Attempt): void {
    const { process } = attempt
    const book = ledger.bookOf(attempt)
    if (book && process.clockAt(process.time) >= book.deadline) lost.add(book.owner)
  }

  /** Or it runs out in the very line that gives it back. */
  function hearEnd(attempt: Attempt): void {
    const stalled = attempt.stalledMs !== attempt.process.stalledMs
    if (stalled && attempt.released !== 'true') lost.add(ledger.bookOf(attempt)?.owner ?? '')
  }

  /** Nobody else comes in before `atLeast` is over, unless the key was lost or its client closed. */
  function checkStay(owner: string, next?: Attempt): void {
    const book = ledger.owners.get(owner)
    // An attempt that comes in under this owner has just set the time itself.
    const keptUntil = next?.options.atLeast === undefined ? (book?.keptUntil ?? 0) : 0
    if (!book || lost.has(owner) || ledger.closing.has(book.process.index)) return
    // Granted anew, by a call that was long given up, after it had been left.
    if ((book.grantedAt ?? 0) > (book.inHandsAt ?? Infinity)) return
    const earlyMs = keptUntil - world.time
    if (earlyMs > 1 + book.keptLessMs)
      fail('atLeast', `${book.key} was passed on ${earlyMs.toFixed(1)} ms before its shortest hold was over`)
  }

  function checkRenewal(owner: string): void {
    const known = ledger.owners.get(owner)?.inHandsAt !== undefined || renewable.has(owner)
    if (known && !renewable.has(owner)) fail('renew', `${owner} is renewed in spite of renew: false`)
  }

  function checkRotation(attempt: Attempt): void {
    const {
      process,
      lease,
      name,
      options: { rotateToken = 0 },
    } = attempt
    const last = rotatedAt.get(attempt)
    if (!last || !lease || process.crashed || ledger.closing.has(process.index)) return
    if (lease.token !== last.token) {
      rotatedAt.set(attempt, { token: lease.token, time: world.time })
      return
    }
    const since = Math.max(last.time, weather.calmSince(process.index, world.time), process.busyUntil)
    const restMs = (world.time - since) * process.plan.clockRate
    if (
      restMs > 2 * rotateToken + 2 * process.plan.callTimeout + timerSlackMs(process) &&
      ledger.isHeld(attempt)
    ) {
      fail('rotateToken', `the token of ${name} has not risen for ${restMs.toFixed(1)} ms`)
    }
  }
}
