import type { Environment, Timer } from '../../../src/environment.ts'

interface VirtualTimer {
  readonly at: number
  readonly order: number
  readonly run: () => void
  readonly background: boolean
}

/** Time that stands still until a test moves it. Nothing in it sleeps. */
export class VirtualTime implements Environment {
  #now = 1000
  #order = 0
  readonly #timers = new Set<VirtualTimer>()

  now(): number {
    return this.#now
  }

  setTimer(delayMs: number, run: () => void, background = true): Timer {
    const timer = { at: this.#now + delayMs, order: (this.#order += 1), run, background }
    this.#timers.add(timer)
    return timer
  }

  clearTimer(timer: Timer): void {
    this.#timers.delete(timer as VirtualTimer)
  }

  defer(run: () => void): void {
    queueMicrotask(run)
  }

  random(): number {
    return 0.5
  }

  newId(): string {
    return `id-${(this.#order += 1)}`
  }

  get timers(): number {
    return this.#timers.size
  }

  /** How many timers keep the process alive. */
  get awake(): number {
    return [...this.#timers].filter(({ background }) => !background).length
  }

  /** Lets promises run, without moving time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Fires every timer on the way, in order, with promises run in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.settle()
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.run()
      await this.settle()
    }
    this.#now = end
  }

  /** Moves the clock and fires nothing: what a blocked event loop or a stopped process looks like. */
  block(ms: number): void {
    this.#now += ms
  }

  #next(end: number): VirtualTimer | undefined {
    return [...this.#timers]
      .filter((timer) => timer.at <= end)
      .sort((a, b) => a.at - b.at || a.order - b.order)[0]
  }
}
