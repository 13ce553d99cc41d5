import { describe, expect, it } from 'vitest'
import type { LockError } from '../../src/errors.ts'
import type { Lease } from '../../src/lease.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import { generateSchedule } from './generate.ts'
import { Network } from './network.ts'
import { Random } from './random.ts'
import type { Schedule } from './schedule.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { World } from './world.ts'

const WORKLOADS = 100
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']
const TASKS_PER_PROCESS = 12
/** What waits for ever must be served by then: far beyond what it needs. */
const LIMIT_MS = 600_000

/** The network and the processes of a schedule, with clocks that a margin covers; the tasks are ours. */
function scheduleOf(seed: number): Schedule {
  const schedule = generateSchedule(seed)
  return { ...schedule, processes: schedule.processes.map((plan) => ({ ...plan, clockRate: 1 })) }
}

/** Processes that take one to four of six keys, in any order, in all kinds of weather. */
class Crowd {
  readonly problems: string[] = []
  readonly outcomes = new Map<string, number>()
  readonly world: World = new World((error) => this.problems.push(`thrown: ${String(error)}`))
  readonly #random: Random
  readonly #processes: readonly SimulatedProcess[]
  readonly #locks: readonly Locks[]
  readonly #inside = new Set<Lease>()
  readonly #tokens = new Map<string, bigint>()
  #running = 0

  constructor(seed: number) {
    const schedule = scheduleOf(seed)
    this.#random = new Random(seed, 'several')
    const network = new Network(this.world, schedule, () => {})
    this.#processes = schedule.processes.map((_, index) => new SimulatedProcess(index, this.world, schedule))
    this.#locks = this.#processes.map((process) =>
      createLocks(network.connect(process, schedule.server.push), {
        lease: 1000,
        callTimeout: process.plan.callTimeout,
        poll: process.plan.poll,
        logger: null,
        environment: process,
      }),
    )
    for (const process of this.#processes) {
      for (let i = 0; i < TASKS_PER_PROCESS; i += 1)
        this.world.at(this.#random.between(0, 3000), process, () => void this.#task(process))
      const pauseMs = this.#random.integer(100, 2500)
      this.world.at(this.#random.between(0, 5000), null, () => process.pauseFor(pauseMs))
    }
  }

  async play(): Promise<void> {
    await this.#until(LIMIT_MS, () => this.#running > 0 || this.world.time < 6000)
    if (this.#running > 0) this.problems.push(`${this.#running} tasks wait for ever`)
    for (const [i, locks] of this.#locks.entries())
      this.world.at(this.world.time, this.#processes[i] ?? null, () => void locks.close())
    await this.#until(this.world.time + 60_000, () => true)
    for (const { index, pendingTimers } of this.#processes)
      if (pendingTimers > 0) this.problems.push(`process ${index} has ${pendingTimers} timers left`)
  }

  async #until(time: number, goOn: () => boolean): Promise<void> {
    await this.world.runUntil(time, () => {
      this.#look()
      return this.problems.length === 0 && goOn()
    })
  }

  async #task(process: SimulatedProcess): Promise<void> {
    const locks = this.#locks[process.index] as Locks
    const keys = Array.from({ length: this.#random.integer(1, 4) }, () => this.#random.pick(KEYS))
    const work = this.#random.pick([0, 1, 20, 300])
    const gives = this.#random.chance(0.15)
    this.#running += 1
    const outcome = await locks
      .using(keys, { wait: gives ? this.#random.integer(0, 1000) : Infinity }, async (lease) => {
        this.#enter(lease)
        await process.sleep(work)
        this.#inside.delete(lease)
      })
      .then(
        () => 'ok',
        (error: LockError) => error.code,
      )
    const kind = gives ? outcome : `waits for ever: ${outcome}`
    this.outcomes.set(kind, (this.outcomes.get(kind) ?? 0) + 1)
    this.#running -= 1
  }

  #enter(lease: Lease): void {
    this.#inside.add(lease)
    for (const key of lease.keys) {
      const token = lease.tokenFor(key)
      if (token <= (this.#tokens.get(key) ?? 0n))
        this.problems.push(`G3 the token of ${key} fell to ${token}`)
      this.#tokens.set(key, token)
    }
  }

  #look(): void {
    this.world.looking = true
    const taken = new Set<string>()
    for (const lease of this.#inside) {
      if (!lease.held) continue
      for (const key of lease.keys) {
        if (taken.has(key)) this.problems.push(`G1 two have ${key} at ${this.world.time}`)
        taken.add(key)
      }
    }
    this.world.looking = false
  }
}

describe('several keys at once', () => {
  it(`G1 G3 no deadlock, no key held twice, nothing left: ${WORKLOADS} random workloads`, async () => {
    const outcomes = new Map<string, number>()
    for (let seed = 1; seed <= WORKLOADS; seed += 1) {
      const crowd = new Crowd(seed)
      await crowd.play()
      expect(crowd.problems, `seed ${seed}`).toEqual([])
      for (const [kind, count] of crowd.outcomes) outcomes.set(kind, (outcomes.get(kind) ?? 0) + count)
    }
    // Who waits for ever gets its keys; what it may still hear is that they were lost.
    const all = [...outcomes.keys()].filter((kind) => kind.startsWith('waits for ever'))
    expect(all.sort()).toEqual(['waits for ever: LOCK_LOST', 'waits for ever: ok'])
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['ok', 'LOCK_ACQUIRE_TIMEOUT']))
  }, 60_000)
})
