import type { Environment, Timer } from '../../src/environment.ts'
import type { Event } from './event-queue.ts'
import { Random } from './random.ts'
import { STEADY_RATES } from './schedule.ts'
import type { ProcessPlan, Schedule } from './schedule.ts'
import type { World } from './world.ts'

const LONGEST_TIMEOUT = 2 ** 31 - 1
// Keeps a timer from firing a rounding error before its time, which no real timer can do twice.
const ROUNDING_MS = 1e-6

/**
 * One process: a clock of its own, timers as Node has them, and the ways a process can be held up.
 * It implements the whole of `Environment`, so core cannot tell it from a real one.
 */
export class SimulatedProcess implements Environment {
  readonly index: number
  readonly plan: ProcessPlan
  crashed = false
  /** Until this true time nothing of this process runs: it is paused, or busy with synchronous work. */
  busyUntil = 0
  /** All time lost inside its own code so far. */
  stalledMs = 0
  readonly #world: World
  readonly #calmAt: number
  readonly #random: Random
  readonly #timers = new Set<Event>()

  constructor(index: number, world: World, schedule: Schedule) {
    this.index = index
    this.plan = schedule.processes[index] as ProcessPlan
    this.#world = world
    this.#calmAt = schedule.calmAt
    this.#random = new Random(schedule.seed, `process ${index}`)
  }

  /** True time as this process lives it: ahead of the world's while its own code takes time. */
  get time(): number {
    return Math.max(this.#world.time, this.busyUntil)
  }

  get paused(): boolean {
    return this.busyUntil > this.#world.time
  }

  /** Whether its clock is as good as a lease's margin allows for. */
  get isSteady(): boolean {
    const [slowest, fastest] = STEADY_RATES
    return this.plan.clockRate >= slowest && this.plan.clockRate <= fastest
  }

  get pendingTimers(): number {
    return this.#timers.size
  }

  /** What this process's clock shows at a true time. */
  clockAt(time: number): number {
    return this.plan.clockOffset + time * this.plan.clockRate
  }

  pauseFor(ms: number): void {
    this.busyUntil = Math.max(this.busyUntil, this.#world.time + ms)
  }

  now(): number {
    // Code can be held up between any two statements, and a read of the clock is where it shows.
    const { looking, time } = this.#world
    if (!looking && time < this.#calmAt && this.#random.chance(this.plan.stallChance)) {
      const stallMs = this.#random.between(1, this.plan.stallMs)
      this.busyUntil = this.time + stallMs
      this.stalledMs += stallMs
    }
    return this.clockAt(this.time)
  }

  setTimer(delayMs: number, run: () => void): Timer {
    const fire = (): void => {
      this.#timers.delete(event)
      run()
    }
    const event = this.#world.at(this.time + this.#timerDelay(delayMs) / this.plan.clockRate, this, fire)
    this.#timers.add(event)
    return event
  }

  clearTimer(timer: Timer): void {
    const event = timer as Event | undefined
    if (!event) return
    event.cancelled = true
    this.#timers.delete(event)
  }

  defer(run: () => void): void {
    queueMicrotask(() => process.nextTick(() => this.#world.guarded(run)))
  }

  random(): number {
    return this.#random.next()
  }

  newId(): string {
    return `${this.index}.${this.#random.id()}`
  }

  /** For simulated user code. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.at(this.time + ms / this.plan.clockRate, this, resolve))
  }

  // setTimeout drops the fraction, so a timer may fire up to a millisecond early by performance.now();
  // a delay that it cannot hold fires at once.
  #timerDelay(delayMs: number): number {
    if (!this.plan.coarseTimers) return (delayMs >= 0 ? delayMs : 0) + ROUNDING_MS
    if (!(delayMs >= 1 && delayMs <= LONGEST_TIMEOUT)) return 1
    return Math.trunc(delayMs) + this.#random.between(0, this.plan.timerLatenessMs)
  }
}
