import type { Lease } from '../../src/lease.ts'

/**
 * Whether a holder is told of its loss before the store may let another in. That moment is a timer beside the one of the
 * lease: a process that stands still runs both late, but in order, where a clock would blame the lease.
 */
export class Told {
  readonly lease: Lease
  readonly #leaseMs: number
  #expired = false
  #inTime: boolean

  constructor(lease: Lease, leaseMs: number) {
    this.lease = lease
    this.#leaseMs = leaseMs
    this.#inTime = lease.signal.aborted
    lease.signal.addEventListener('abort', () => (this.#inTime = !this.#expired))
  }

  /** No renewal reaches the store from now on, where so much of the lease is left. */
  cutOff(leftMs: number = this.#leaseMs): void {
    setTimeout(() => (this.#expired = true), leftMs).unref()
  }

  get told(): boolean {
    return this.lease.signal.aborted
  }

  get inTime(): boolean {
    return this.#inTime
  }
}
