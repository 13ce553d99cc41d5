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

  readonly #processes: readonly Locks[]
  /** The last faults of the store that each process was told of. */
  readonly #told = new Map<Locks, string[]>()

  constructor(processes: readonly Locks[], keys: readonly string[]) {
    this.#processes = processes
    for (const locks of processes) {
      const told: string[] = []
      this.#told.set(locks, told)
      locks.on('error', ({ error }) => {
        told.push(`${Math.round(performance.now())} ${error.message} (${String(error.cause)})`.slice(0, 300))
        if (told.length > 5) told.shift()
      })
    }
    for (const locks of processes)
      for (const key of keys) for (let i = 0; i < 2; i += 1) this.#workers.push(this.#work(locks, key))
  }

  /** Until there were so many turns more. */
  async goesOn(turns = 100): Promise<void> {
    const target = this.#turns + turns
    try {
      await until('more turns', () => this.#turns >= target)
    } catch (error) {
      throw new Error(`${target - this.#turns} turns are missing\n${await this.#state()}`, { cause: error })
    }
  }

  /** What the processes know, for whoever has to find out why they do not go on. */
  async #state(): Promise<string> {
    const lines = this.#processes.map(async (locks) => {
      const { held, waiting, storeCalls, storeFailures, lost } = locks.stats()
      const found = await locks
        .list()
        .then(
          (page) =>
            page.locks.map(({ key, grant, holder, remainingMs }) => ({ key, grant, holder, remainingMs })),
          String,
        )
      const health = await locks.health()
      const seen = {
        held,
        waiting,
        storeCalls,
        storeFailures,
        lost,
        found,
        health: health.ok || String(health.error),
      }
      return JSON.stringify({ at: Math.round(performance.now()), ...seen, told: this.#told.get(locks) })
    })
    return (await Promise.all(lines)).join('\n')
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
