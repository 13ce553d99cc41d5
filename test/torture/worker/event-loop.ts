import { type HistoryWriter, now } from '../history.ts'

const TICK_MS = 100
/** On a machine with more to do than it can, a process may not run for seconds. */
const STARVED_MS = 600

/** When the event loop of this process stood still, by order or since it had no processor. */
export class EventLoop {
  readonly #history: HistoryWriter
  #tickedAt = now()

  constructor(history: HistoryWriter) {
    this.#history = history
    setInterval(() => this.#tick(), TICK_MS).unref()
  }

  /** As a long computation does. */
  block(ms: number): void {
    this.#tick()
    this.#history.note({ is: 'block', ms })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    this.#history.note({ is: 'unblock' })
    this.#tickedAt = now()
  }

  #tick(): void {
    const ms = now() - this.#tickedAt
    if (ms > STARVED_MS) {
      this.#history.note({ is: 'block', ms, starved: true }, this.#tickedAt)
      this.#history.note({ is: 'unblock' })
    }
    this.#tickedAt = now()
  }
}
