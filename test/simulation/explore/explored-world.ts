import type { Event } from '../event-queue.ts'
import type { SimulatedProcess } from '../simulated-process.ts'
import { World } from '../world.ts'

/** Virtual time that goes on only when it is told to; what is due then happens when it is told to. */
export class ExploredWorld extends World {
  readonly #planned = new Map<SimulatedProcess, Event[]>()
  readonly #counts = new Map<SimulatedProcess, number>()

  override at(time: number, process: SimulatedProcess | null, run: () => void): Event {
    if (!process) throw new Error('what happens outside of processes is a message here')
    const due = Math.max(time, this.time)
    const events = this.#planned.get(process) ?? []
    // Counted for each process: no number may tell in which order processes ran.
    const event = { time: due, due, order: this.#count(process), process, run, cancelled: false }
    events.push(event)
    this.#planned.set(process, events)
    return event
  }

  nextOf(process: SimulatedProcess): Event | null {
    return process.crashed ? null : (this.plannedFor(process)[0] ?? null)
  }

  /** Runs code of a process, with all that follows from it at the same instant. */
  async run(run: () => void): Promise<void> {
    this.steps += 1
    this.guarded(run)
    await promiseJobs()
  }

  async fire(event: Event): Promise<void> {
    event.cancelled = true
    await this.run(event.run)
  }

  #count(process: SimulatedProcess): number {
    const count = (this.#counts.get(process) ?? 0) + 1
    this.#counts.set(process, count)
    return count
  }

  /** What it will do by itself, in the order of time, as timers do. */
  plannedFor(process: SimulatedProcess): readonly Event[] {
    const events = (this.#planned.get(process) ?? []).filter((event) => !event.cancelled).sort(inTime)
    this.#planned.set(process, events)
    return events
  }
}

function inTime(a: Event, b: Event): number {
  return a.time === b.time ? a.order - b.order : a.time - b.time
}

function promiseJobs(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
