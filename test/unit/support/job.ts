import type { Lease } from '../../../src/lease.ts'
import { gate } from './world.ts'

/** A job that leaves a mark, and takes as long as the test wants. */
export class TrialJob {
  /** What `done` looks for. */
  marked = false
  /** How often `done` was asked. */
  asked = 0
  /** The leases under which it was run. */
  readonly runs: Lease[] = []
  readonly #end = gate()

  readonly done = (): boolean => {
    this.asked += 1
    return this.marked
  }

  readonly run = async (lease: Lease): Promise<void> => {
    this.runs.push(lease)
    await this.#end.promise
    this.marked = true
  }

  get options(): { done: () => boolean; run: (lease: Lease) => Promise<void> } {
    return { done: this.done, run: this.run }
  }

  /** Lets runs end. */
  finish(): void {
    this.#end.open()
  }
}
