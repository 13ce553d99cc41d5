import type { Invariant, Scene } from '../scene.ts'

/** After `close()`: no timer, no subscription, nobody still waiting, and nothing comes back to life. */
export function nothingLeft({ world, processes, network, ledger, locks, weather, fail }: Scene): Invariant {
  const closed = new Set<number>()
  const closingAt = new Map<number, number>()

  return {
    hear(fact) {
      if (fact.is === 'closing') closingAt.set(fact.process, world.time)
      if (fact.is === 'entered' && !fact.attempt.reenters && isClosing(fact.attempt.process.index)) {
        fail('G12', `${fact.attempt.name} got a lease from a client that is being closed`)
      }
      if (fact.is === 'closed') {
        closed.add(fact.process)
        const stats = locks[fact.process]?.stats()
        if (stats && stats.held + stats.waiting > 0)
          fail('G12', `process ${fact.process} counts holders or waiters`)
        checkKeys(fact.process)
      }
      if (fact.is === 'sent' && closed.has(fact.call.process)) {
        fail('G12', `process ${fact.call.process} sends a ${fact.call.step} after close()`)
      }
    },
    look() {
      for (const attempt of ledger.waiting) {
        const { process, reenters, name } = attempt
        if (reenters || process.crashed || process.paused || !isClosing(process.index)) continue
        fail('G12', `${name} is still waiting on a client that is being closed`)
      }
      for (const index of closed) {
        const process = processes[index]
        if (!process || process.crashed) continue
        const { pendingTimers } = process
        if (pendingTimers > 0) fail('G12', `process ${index} has ${pendingTimers} timers after close()`)
        const watches = network.watchesOf(index)
        if (watches > 0) fail('G12', `process ${index} has ${watches} subscriptions after close()`)
      }
    },
    end() {
      for (const attempt of ledger.attempts) {
        if (attempt.process.crashed || attempt.settledAt !== undefined) continue
        fail('G12', `${attempt.name} was never settled`)
      }
    },
  }

  /** In calm weather `close` takes back all that its client has, but for what `atLeast` keeps. */
  function checkKeys(index: number): void {
    const calmMs = world.time - weather.calmSince(index, world.time)
    if (calmMs < 4 * (processes[index]?.plan.callTimeout ?? 0)) return
    for (const { key, owner } of network.server.store.records.values()) {
      const book = ledger.owners.get(owner)
      if (book?.process.index !== index || book.keptUntil > 0 || ledger.isBeyondKnowing(book)) continue
      // Its ask came through after the last attempt to take it back.
      if ((book.grantedAt ?? 0) > (closingAt.get(index) ?? 0)) continue
      // A body that works on after a loss is not waited for; its lease runs out by itself.
      if (ledger.isInHands(book)) continue
      if (network.server.store.held(key))
        fail('G12', `process ${index} is closed and still holds ${key} as ${owner}`)
    }
  }

  /** Since before this instant: what was given out in the same one may still arrive. */
  function isClosing(process: number): boolean {
    return (closingAt.get(process) ?? Infinity) < world.time
  }
}
