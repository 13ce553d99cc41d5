import type { ConformanceOptions } from '../../src/testing/index.ts'
import type { ModelStore } from './model-store.ts'

/** A mistake that a store's author could make, and tests of the suite that must notice. */
export interface PlantedFault {
  readonly fault: string
  readonly store: typeof ModelStore
  readonly caughtBy: readonly string[]
  /** For a suite that notices it only so. */
  readonly options?: Partial<ConformanceOptions>
}
