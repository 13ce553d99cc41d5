import type { Socket } from 'node:net'

export interface Weather {
  frozen: boolean
  delayMs: number
}

/** One direction of a connection through a proxy: what comes out of one socket goes into the other, in order. */
export class TcpLane {
  readonly #weather: Readonly<Weather>
  readonly #under: { readonly due: number; readonly arrive: () => void }[] = []
  #timer: NodeJS.Timeout | undefined
  #lost = false

  constructor(from: Socket, to: Socket, weather: Readonly<Weather>) {
    this.#weather = weather
    from.on('data', (chunk) => this.#send(() => to.write(chunk)))
    from.on('end', () => this.#send(() => to.end()))
    from.on('error', () => {}) // Always followed by `close`.
    from.on('close', (failed) => failed && this.#send(() => to.resetAndDestroy()))
    to.on('close', () => this.lose())
  }

  /** Nothing arrives any more, not even what is under way. */
  lose(): void {
    this.#lost = true
    this.#under.length = 0
    clearTimeout(this.#timer)
  }

  /** Lets arrive what is due. */
  flush(): void {
    clearTimeout(this.#timer)
    while (!this.#weather.frozen) {
      const [next] = this.#under
      if (!next) return
      const waitMs = next.due - performance.now()
      if (waitMs > 0) {
        // Timers may be a little early: then it is set again.
        this.#timer = setTimeout(() => this.flush(), Math.ceil(waitMs))
        return
      }
      this.#under.shift()
      next.arrive()
    }
  }

  #send(arrive: () => void): void {
    if (this.#lost) return
    this.#under.push({ due: performance.now() + this.#weather.delayMs, arrive })
    this.flush()
  }
}
