import type { Lease } from '../lease.ts'
import type { Keys } from '../key.ts'
import { isThenable } from '../thenable.ts'
import type { Tracing } from './tracing.ts'

/** A tracer may be added twice: then it is removed one by one. */
export interface Traced {
  readonly tracing: Tracing
}

/**
 * The tracers of one client, the first one outermost. Whatever they do, what they are put around runs exactly once and
 * at once, and its own outcome is what counts.
 */
export class Tracers {
  readonly #all: readonly Traced[]
  readonly #broken: (cause: unknown) => void

  constructor(all: readonly Traced[], broken: (cause: unknown) => void) {
    this.#all = all
    this.#broken = broken
  }

  acquiring<T>(keys: Keys, run: () => Promise<T>): Promise<T> {
    return this.#around((tracing, inner) => tracing.acquiring(keys, inner), run)
  }

  holding<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
    return this.#around((tracing, inner) => tracing.holding(lease, inner), run)
  }

  #around<T>(wrap: (tracing: Tracing, run: () => Promise<T>) => unknown, run: () => Promise<T>): Promise<T> {
    return this.#all.reduceRight(
      (inner, { tracing }) =>
        () =>
          this.#guarded((once) => wrap(tracing, once), inner),
      run,
    )()
  }

  #guarded<T>(wrap: (run: () => Promise<T>) => unknown, run: () => Promise<T>): Promise<T> {
    let running: Promise<T> | null = null
    const once = (): Promise<T> => (running ??= run())
    try {
      const result = wrap(once)
      if (isThenable(result)) result.then(undefined, (reason: unknown) => this.#judge(reason, once()))
    } catch (error) {
      this.#broken(error)
    }
    return once()
  }

  /** To pass on the error of `run` is right; any other is the tracer's own. */
  #judge(reason: unknown, running: Promise<unknown>): void {
    running.then(
      () => this.#broken(reason),
      (own: unknown) => {
        if (own !== reason) this.#broken(reason)
      },
    )
  }
}
