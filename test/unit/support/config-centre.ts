import { afterEach } from 'vitest'
import { type ConfigOptions, type ConfigSource, locksFromConfig } from '../../../src/config/index.ts'
import type { LockError } from '../../../src/errors.ts'
import type { Locks } from '../../../src/locks.ts'
import { TrialStore } from './trial-store.ts'
import { VirtualTime } from './virtual-time.ts'

/** A source that a test feeds by hand. */
export class Centre implements AsyncIterableIterator<unknown> {
  returned = false
  readonly #values: unknown[] = []
  #waiting: { resolve: (result: IteratorResult<unknown>) => void; reject: (error: unknown) => void } | null =
    null

  constructor(first: unknown) {
    this.#values.push(first)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#values.length > 0) return Promise.resolve({ value: this.#values.shift() })
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }))
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.returned = true
    return { done: true, value: undefined }
  }

  give(value: unknown): void {
    if (this.#waiting) this.#waiting.resolve({ value })
    else this.#values.push(value)
    this.#waiting = null
  }

  end(): void {
    this.#waiting?.resolve({ done: true, value: undefined })
  }

  fail(error: unknown): void {
    this.#waiting?.reject(error)
  }
}

export interface Stage {
  readonly time: VirtualTime
  readonly locks: Locks
  readonly errors: LockError[]
  /** Lets the change arrive. */
  arrive(): Promise<void>
  leaseOf(key: string): Promise<number>
}

export const open: Locks[] = []
afterEach(() => {
  for (const locks of open.splice(0)) void locks.close()
})

export async function stage(source: ConfigSource, options: ConfigOptions = {}): Promise<Stage> {
  const time = (options.environment as VirtualTime | undefined) ?? new VirtualTime()
  const store = new TrialStore(time)
  const starting = locksFromConfig({ source, store, env: {}, logger: null, environment: time, ...options })
  const locks = await starting
  open.push(locks)
  const errors: LockError[] = []
  locks.on('error', ({ error }) => errors.push(error))
  return {
    time,
    locks,
    errors,
    arrive: () => time.advance(200),
    async leaseOf(key) {
      const lease = await locks.acquire(key)
      const { leaseMs } = (await locks.inspect(key))!
      await lease.release()
      return leaseMs
    },
  }
}
