import { randomBytes } from 'node:crypto'
import { checkNames, invalid } from '../option-check.ts'
import type { Store } from '../store.ts'

/**
 * The two functions of a test runner that the suite needs. vitest, jest and `node:test` all have them
 * in this shape; `node:test` ignores the time limit, so the suite keeps one of its own as well.
 */
export interface Runner {
  readonly describe: (name: string, define: () => void) => unknown
  readonly it: (name: string, run: () => Promise<void>, timeoutMs: number) => unknown
}

export interface ConformanceOptions {
  /** Names the suite in the runner's report: `sqlite`, `postgres 16`. */
  readonly name: string

  /**
   * A fresh client of one and the same backend: two calls stand for two processes. The suite calls
   * `open()` on it before use and `close()` after. A store that lives in one process may hand out the
   * same object each time, if its `close()` leaves it usable.
   */
  readonly createStore: () => Store | Promise<Store>

  /** Runs before each test, while no client is open. Only for a backend that nobody else uses. */
  readonly reset?: (() => unknown) | undefined

  /** Starts every key, so that runs can share one server. Random if absent. At most 64 bytes. */
  readonly keyPrefix?: string | undefined

  /**
   * Whether the store has `watch`. Default true: a store without it must say so, or a broken push
   * would pass for a missing one.
   */
  readonly push?: boolean | undefined

  /**
   * Whether a grant names the holder whose lease had run out before. Default true: false only where the server itself
   * removes what has expired.
   */
  readonly namesExpired?: boolean | undefined

  /**
   * Whether the release of a lease that has run out tells whether it was wanted, if nobody took the key since. Default:
   * as `namesExpired`; false only where nothing of the denial is left then.
   */
  readonly tellsExpired?: boolean | undefined

  /**
   * The shortest lease that the backend can keep. Default 200 ms. Raise it where the server counts in
   * whole seconds; the tests that wait for a lease to run out get slower by as much.
   */
  readonly minLeaseMs?: number | undefined

  /**
   * How far a time that the store tells may be off, because the server rounds it. Default 10 ms. It
   * never hides an early expiry of more than this.
   */
  readonly toleranceMs?: number | undefined

  /**
   * How long to wait for what should come at once: a wake-up, a release by another process. Default
   * 15 s, so that no stall of a busy machine fails a test; only a failing test takes as long.
   */
  readonly patienceMs?: number | undefined

  /** How long a single test may take before it counts as hanging. Default 30 s. */
  readonly limitMs?: number | undefined

  /** Adds the tests with real child processes. Leave out only if the store lives in one process. */
  readonly processes?: ProcessOptions | undefined
}

export interface ProcessOptions {
  /**
   * A module whose default export is `(argument) => Store | Promise<Store>`: a client of the backend
   * that `createStore` uses. Each child process imports it. An absolute path or a `file:` URL.
   */
  readonly module: string | URL

  /** Passed to that function as JSON: the address of the server, the path of the file. */
  readonly argument?: unknown

  /** Options of `node` for the children. Default: `--import tsx` if the module is TypeScript. */
  readonly execArgv?: readonly string[] | undefined
}

export interface Settings {
  readonly name: string
  readonly createStore: () => Store | Promise<Store>
  readonly reset: () => unknown
  readonly keyPrefix: string
  readonly push: boolean
  readonly namesExpired: boolean
  readonly tellsExpired: boolean
  /** A lease to wait out. */
  readonly shortMs: number
  readonly toleranceMs: number
  readonly patienceMs: number
  readonly limitMs: number
  readonly processes: ProcessOptions | undefined
}

const OPTIONS: Readonly<Record<keyof ConformanceOptions, true>> = {
  name: true,
  createStore: true,
  reset: true,
  keyPrefix: true,
  push: true,
  namesExpired: true,
  tellsExpired: true,
  minLeaseMs: true,
  toleranceMs: true,
  patienceMs: true,
  limitMs: true,
  processes: true,
}

export function settingsOf(options: ConformanceOptions): Settings {
  checkNames('storeConformance', options, Object.keys(OPTIONS))
  if (typeof options.name !== 'string') throw invalid('storeConformance: name: give a text')
  if (typeof options.createStore !== 'function')
    throw invalid('storeConformance: createStore: give a function that makes a client of the store')
  const keyPrefix = options.keyPrefix ?? `holdfast-test:${randomBytes(5).toString('hex')}:`
  if (Buffer.byteLength(keyPrefix) > 64) throw new RangeError('keyPrefix: at most 64 bytes')
  return {
    name: options.name,
    createStore: options.createStore,
    reset: options.reset ?? (() => undefined),
    keyPrefix,
    push: options.push ?? true,
    namesExpired: options.namesExpired ?? true,
    tellsExpired: options.tellsExpired ?? options.namesExpired ?? true,
    shortMs: options.minLeaseMs ?? 200,
    toleranceMs: options.toleranceMs ?? 10,
    patienceMs: options.patienceMs ?? 15_000,
    limitMs: options.limitMs ?? 30_000,
    processes: options.processes,
  }
}
