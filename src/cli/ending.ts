import type { Family } from './family.ts'

/** What SIGKILL has not ended by then is stuck in the kernel, or not ours to end. */
const BURIAL_MS = 1_000

/** SIGTERM, and after the grace SIGKILL. */
export class Ending {
  readonly #family: Family
  readonly #graceMs: number
  /** Resolves when there is nothing left to try. */
  readonly inVain: Promise<void>
  #isInVain = false
  #giveUp: () => void = () => {}
  #timer: NodeJS.Timeout | null = null

  constructor(family: Family, graceMs: number) {
    this.#family = family
    this.#graceMs = graceMs
    this.inVain = new Promise((resolve) => (this.#giveUp = resolve))
  }

  get isInVain(): boolean {
    return this.#isInVain
  }

  begin(): void {
    if (this.#timer) return
    if (this.#graceMs > 0) this.#family.signal('SIGTERM')
    this.#timer = setTimeout(() => this.#kill(), this.#graceMs)
  }

  over(): void {
    if (this.#timer) clearTimeout(this.#timer)
  }

  #kill(): void {
    this.#family.signal('SIGKILL')
    this.#timer = setTimeout(() => {
      this.#isInVain = true
      this.#giveUp()
    }, BURIAL_MS)
  }
}
