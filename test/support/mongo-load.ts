import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import { until } from './stage.ts'

const LEASE_MS = 3000

/** Work of several processes on a few keys, and what was wrong with it. */
export class Load {
  readonly faults: string[] = []
  readonly #holders = new Map<string, Lease>()
  readonly #tokens = new Map<string, bigint>()
  readonly #workers: Promise<void>[] = []
  #turns = 0
  #over = false

  constructor(processes: readonly Locks[], keys: readonly string[]) {
    for (const locks of processes)
      for (const key of keys) for (let i = 0; i < 2; i += 1) this.#workers.push(this.#work(locks, key))
  }

  /** Until there were so many turns more. */
  async goesOn(turns = 100): Promise<void> {
    const target = this.#turns + turns
    await until('more turns', () => this.#turns >= target)
  }

  /** What was wrong. */
  async end(): Promise<string[]> {
    this.#over = true
    await Promise.all(this.#workers)
    return this.faults
  }

  async #work(locks: Locks, key: string): Promise<void> {
    while (!this.#over) {
      try {
        await locks.using(key, { wait: '30s', lease: LEASE_MS }, (lease) => this.#turn(lease))
      } catch (error) {
        const { code } = error as { code?: string }
        // The test has ended without us: it failed, and another turn would be refused at once, again and again.
        if (code === 'CLOSED') return
        // Who holds while nobody answers loses, and is told.
        if (code !== 'LOCK_LOST' && code !== 'LOCK_RELEASE_FAILED') this.faults.push(String(error))
      }
    }
  }

  async #turn(lease: Lease): Promise<void> {
    const { key, token } = lease
    if (this.#holders.get(key)?.held) this.faults.push(`two hold ${key}`)
    const last = this.#tokens.get(key) ?? 0n
    if (token <= last) this.faults.push(`${key}: ${token} after ${last}`)
    this.#holders.set(key, lease)
    this.#tokens.set(key, token)
    this.#turns += 1
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (this.#holders.get(key) === lease) this.#holders.delete(key)
    else if (lease.held) this.faults.push(`${key} was taken from its holder`)
  }
}
