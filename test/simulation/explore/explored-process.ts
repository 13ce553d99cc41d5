import type { Timer } from '../../../src/environment.ts'
import type { Event } from '../event-queue.ts'
import type { Schedule } from '../schedule.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import type { ExploredWorld } from './explored-world.ts'

/** A process without chance: timers to the millisecond, no jitter, and owners by number. */
export class ExploredProcess extends SimulatedProcess {
  readonly #world: ExploredWorld
  readonly #timers = new Set<Event>()
  #ids = 0

  constructor(index: number, world: ExploredWorld, schedule: Schedule) {
    super(index, world, schedule)
    this.#world = world
  }

  override get pendingTimers(): number {
    return this.#timers.size
  }

  override now(): number {
    return this.clockAt(this.time)
  }

  // Rounded up, as the environment of a real process does.
  override setTimer(delayMs: number, run: () => void): Timer {
    const event = this.#world.at(this.time + Math.ceil(Math.max(delayMs, 0)), this, () => {
      this.#timers.delete(event)
      run()
    })
    this.#timers.add(event)
    return event
  }

  override clearTimer(timer: Timer): void {
    const event = timer as Event | null
    if (!event) return
    event.cancelled = true
    this.#timers.delete(event)
  }

  override random(): number {
    return 0.5
  }

  override newId(): string {
    this.#ids += 1
    return `owner ${this.index}.${this.#ids}`
  }
}
