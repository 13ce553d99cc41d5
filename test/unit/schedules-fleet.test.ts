import { describe, expect, it } from 'vitest'
import { createLocks, type Locks } from '../../src/locks.ts'
import { TrialStore } from './support/trial-store.ts'
import { world } from './support/world.ts'

const TICK_MS = 60_000

interface Process {
  readonly locks: Locks
  readonly store: TrialStore
}

/** Ten processes that fire every minute, each late by its own skew. */
class Fleet {
  readonly #world = world()
  readonly #processes: Process[]
  /** In which tick the job ran, each time it did. */
  readonly runs: number[] = []
  #running = 0
  /** Of runs at the same time. */
  most = 0

  constructor() {
    const { time, store: server } = this.#world
    this.#processes = Array.from({ length: 10 }, () => {
      const store = new TrialStore(time, { inner: server.inner })
      return { store, locks: createLocks(store, { environment: time, logger: null }) }
    })
  }

  async tick(tick: number, how: { skewMs: (process: number) => number; jobMs: number }): Promise<void> {
    const { time } = this.#world
    for (const [i, { locks }] of this.#processes.entries()) {
      time.setTimer(how.skewMs(i), () => void this.#fire(tick, locks, how.jobMs))
    }
    await time.advance(TICK_MS)
  }

  /** The store will not hear of it again. */
  killLater(ms: number, process: number): void {
    const { mood } = this.#processes[process]!.store
    this.#world.time.setTimer(ms, () => {
      mood.acquire = mood.renew = mood.release = 'hang'
    })
  }

  async #fire(tick: number, locks: Locks, jobMs: number): Promise<void> {
    const lease = await locks.tryAcquire('report', { lease: '30s', atLeast: '20s' }).catch(() => null)
    if (!lease) return
    this.runs.push(tick)
    this.#running += 1
    this.most = Math.max(this.most, this.#running)
    await new Promise<void>((resolve) => this.#world.time.setTimer(jobMs, resolve))
    this.#running -= 1
    await lease.release().catch(() => false)
  }
}

describe('ten processes fire at every tick', () => {
  it('the job runs once per tick, while their clocks differ by less than atLeast', async () => {
    const fleet = new Fleet()
    const ticks = Array.from({ length: 12 }, (_, tick) => tick)
    for (const tick of ticks) {
      // Another one is first, and another one is last, each time.
      await fleet.tick(tick, { skewMs: (i) => ((i + tick) % 10) * 2_200, jobMs: tick * 300 })
    }
    expect(fleet.runs).toEqual(ticks)
  })

  it('clocks that differ by more run it again: atLeast is what holds them off', async () => {
    const fleet = new Fleet()
    await fleet.tick(0, { skewMs: (i) => i * 2_500, jobMs: 10 })
    expect(fleet.runs).toEqual([0, 0])
  })

  it('a run that takes longer than the lease and the tick is alone, and ticks meanwhile are left out', async () => {
    const fleet = new Fleet()
    for (const tick of [0, 1, 2]) await fleet.tick(tick, { skewMs: (i) => i, jobMs: 1.5 * TICK_MS })
    expect(fleet.runs).toEqual([0, 2])
    expect(fleet.most).toBe(1)
  })

  it('a process that dies in its run costs no more than that run', async () => {
    const fleet = new Fleet()
    fleet.killLater(50, 0)
    await fleet.tick(0, { skewMs: (i) => i * 2_200, jobMs: 200 })
    await fleet.tick(1, { skewMs: (i) => i * 2_200, jobMs: 10 })
    expect(fleet.runs).toEqual([0, 1])
  })
})
