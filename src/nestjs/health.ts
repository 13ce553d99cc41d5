import type { Locks } from '../locks.ts'

/** What `@nestjs/terminus` takes for the result of an indicator. */
export type LocksHealthResult<Key extends string> = Record<
  Key,
  | { status: 'up'; store: string; latencyMs: number | null }
  | { status: 'down'; store: string; message: string }
>

/** Whether the store of the locks answers, for `HealthCheckService` of `@nestjs/terminus` or on its own. */
export class LocksHealth {
  readonly #locks: Locks

  constructor(locks: Locks) {
    this.#locks = locks
  }

  /** Never rejects, and takes at most as long as one store call may. */
  async isHealthy<const Key extends string = 'locks'>(key?: Key): Promise<LocksHealthResult<Key>> {
    const { ok, store, latencyMs, error } = await this.#locks.health()
    // The code alone: the page may be public, and messages of drivers name hosts and users. They are in the log.
    const facts = ok
      ? { status: 'up', store, latencyMs }
      : { status: 'down', store, message: error?.code ?? 'STORE_UNAVAILABLE' }
    return { [key ?? 'locks']: facts } as LocksHealthResult<Key>
  }
}
