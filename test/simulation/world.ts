import { EventQueue } from './event-queue.ts'
import type { Event } from './event-queue.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** Virtual time. Nothing in a run happens outside an event, and events happen one at a time. */
export class World {
  /** True time in milliseconds since the run began. No process can read it. */
  time = 0
  /** Events that have happened. */
  steps = 0
  /** Set while an invariant looks: looking takes no time and draws no random number. */
  looking = false
  readonly #events = new EventQueue()
  #order = 0
  readonly #onThrow: (error: unknown) => void

  /** `onThrow` hears what library code threw out of a timer or a callback, where nobody can catch it. */
  constructor(onThrow: (error: unknown) => void) {
    this.#onThrow = onThrow
  }

  at(time: number, process: SimulatedProcess | null, run: () => void): Event {
    const due = Math.max(time, this.time)
    const event = { time: due, due, order: this.#order++, process, run, cancelled: false }
    this.#events.push(event)
    return event
  }

  /**
   * Runs what happens up to a time. After each event of a process its promise jobs are drained, so
   * that all it does in consequence happens at the same virtual instant; then `afterStep` looks.
   */
  async runUntil(end: number, afterStep: () => boolean): Promise<void> {
    for (;;) {
      const next = this.#events.peek()
      if (!next || next.time > end) break
      this.#events.pop()
      if (next.cancelled || next.process?.crashed) continue
      if (next.process && this.#putOff(next, next.process)) continue
      this.time = next.time
      this.steps += 1
      this.guarded(next.run)
      if (next.process) await promiseJobs()
      if (!afterStep()) return
    }
    this.time = Math.max(this.time, end)
  }

  guarded(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#onThrow(error)
    }
  }

  // A paused or busy process runs nothing: its timers and messages wait for it.
  #putOff(event: Event, process: SimulatedProcess): boolean {
    if (process.busyUntil <= event.time) return false
    event.time = process.busyUntil
    this.#events.push(event)
    return true
  }
}

// The check phase comes after every promise job and every process.nextTick, however long the chain.
function promiseJobs(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
