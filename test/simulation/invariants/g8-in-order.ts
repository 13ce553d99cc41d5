import type { Attempt } from '../attempt.ts'
import type { Call } from '../network.ts'
import type { Invariant, Scene } from '../scene.ts'
import { timerSlackMs } from './slack.ts'

/** What a process may wait out of courtesy before it asks again. */
const LONGEST_COURTESY_MS = 250

/**
 * First come, first served inside a process; one waiter for all of them at the store; and a key that
 * is free does not stay so while someone waits for it, also if the word of it was lost.
 */
export function inOrder({ world, schedule, network, processes, ledger, weather, fail }: Scene): Invariant {
  const asking = new Map<string, Call>()
  const openings = new Set<string>()
  /** Since when a key has been free by the store's clock. */
  const freeSince = new Map<string, number>()
  /** When its own process last kept it waiting for a key that was free. */
  const blockedAt = new Map<Attempt, number>()
  const { server } = network

  return {
    hear(fact) {
      if (fact.is === 'entered') checkTurn(fact.attempt)
      if (fact.is === 'left') {
        for (const attempt of ledger.waiting) {
          if (attempt.process === fact.attempt.process) blockedAt.set(attempt, world.time)
        }
      }
      if (fact.is === 'answered' && fact.call.step === 'open')
        openings.add(`${fact.call.process} ${world.time}`)
      if (fact.is === 'sent' && fact.call.step === 'acquire') checkAsks(fact.call)
    },
    look() {
      for (const attempt of ledger.waiting) {
        if (!attempt.reenters && !attempt.process.crashed) checkWaiter(attempt)
      }
    },
  }

  function checkTurn(attempt: Attempt): void {
    for (const other of ledger.waiting) {
      if (other.process !== attempt.process || other.key !== attempt.key) continue
      // Siblings queue inside their section, which is a place of its own.
      const sameQueue = attempt.reenters ? other.reenters && other.outer === attempt.outer : !other.reenters
      if (sameQueue && isBefore(other, attempt)) fail('G8', `${attempt.name} was served before ${other.name}`)
    }
  }

  function isBefore(a: Attempt, b: Attempt): boolean {
    return ledger.attempts.indexOf(a) < ledger.attempts.indexOf(b)
  }

  function checkAsks(call: Call): void {
    const process = processes[call.process]
    if (!process) return
    for (const { key } of call.items) {
      const place = `${call.process} ${key}`
      const before = asking.get(place)
      asking.set(place, call)
      if (!before || before.ended) continue
      const ageMs = (process.time - before.begunAt) * process.plan.clockRate
      // It also counts from before the store was opened.
      const waitedForOpen = openings.has(`${call.process} ${before.begunAt}`)
      if (ageMs < process.plan.callTimeout - 2 && !waitedForOpen) {
        fail(
          'G8',
          `process ${call.process} asks for ${key} while its ask of ${ageMs.toFixed(1)} ms ago is under way`,
        )
      }
    }
  }

  function checkWaiter(attempt: Attempt): void {
    const { key, process, name } = attempt
    const since = freeFrom(key)
    if (world.time - since < process.plan.poll.max) return
    const heldUntil = heldFor(attempt)
    if (heldUntil > 0) blockedAt.set(attempt, Math.max(heldUntil, blockedAt.get(attempt) ?? 0))
    const { callTimeout, poll, clockRate } = process.plan
    const calmSince = weather.calmSince(process.index, world.time)
    const from = Math.max(since, attempt.askedAt, calmSince, process.busyUntil, blockedAt.get(attempt) ?? 0)
    const bound =
      (2 * poll.max + 2 * callTimeout + LONGEST_COURTESY_MS + 3 * timerSlackMs(process)) / clockRate
    if (world.time - from > bound + 6 * schedule.network.latencyMs[1]) {
      fail('G8', `${key} has been free for ${(world.time - since).toFixed(0)} ms while ${name} waits for it`)
    }
  }

  /** Robbed of the key and not told yet, its process still keeps everybody else in it waiting. */
  function heldFor({ key, process }: Attempt): number {
    let until = 0
    for (const other of ledger.inside) {
      if (other.key === key && other.process === process) until = world.time
    }
    for (const book of ledger.owners.values()) {
      if (book.key === key && book.process === process) until = Math.max(until, book.keptUntil)
    }
    return until
  }

  function freeFrom(key: string): number {
    if (server.store.held(key)) {
      freeSince.delete(key)
      return Infinity
    }
    const since = freeSince.get(key)
    if (since !== undefined) return since
    freeSince.set(key, world.time)
    return world.time
  }
}
