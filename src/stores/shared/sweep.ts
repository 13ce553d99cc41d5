import { setTimeout } from 'node:timers/promises'

/** Records looked at in one statement, which bounds how long it runs and how many rows it locks. */
const CHUNK = 5000
const PAUSE_MS = 20

/** Looks at the next records after a key; resolves to the last key it saw, or null at the end of the table. */
export type SweepStep = (after: string, count: number) => Promise<string | null>

/**
 * Removes records that have been free for longer than `keep`. There is no index to find them by, as that would cost
 * every lock more than a walk through the table now and then: four times in `keep`, and only while locks are taken.
 * Several processes may walk at once; what another one has locked is left to it.
 */
export class Sweep {
  readonly #everyMs: number
  readonly #step: SweepStep
  readonly #stop = new AbortController()
  #dueAt: number
  #walk: Promise<void> | undefined

  constructor(keepMs: number, step: SweepStep) {
    this.#everyMs = keepMs / 4
    this.#step = step
    this.#dueAt = performance.now() + Math.random() * this.#everyMs
  }

  /** Starts a walk if one is due. Costs nothing otherwise. */
  poke(): void {
    if (this.#walk || performance.now() < this.#dueAt || this.#stop.signal.aborted) return
    this.#walk = this.#run().finally(() => {
      this.#walk = undefined
      this.#dueAt = performance.now() + this.#everyMs * (0.75 + Math.random() / 2)
    })
  }

  /** Best effort: what is left is found the next time. */
  async #run(): Promise<void> {
    const { signal } = this.#stop
    try {
      let after = ''
      while (!signal.aborted) {
        const last = await this.#step(after, CHUNK)
        if (last === null) return
        after = last
        await setTimeout(PAUSE_MS, undefined, { signal, ref: false })
      }
    } catch {
      // As above; also when it is stopped during a pause.
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#walk
  }
}
