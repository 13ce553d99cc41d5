import type { Locks } from '../../src/locks.ts'
import type { Fact } from './facts.ts'
import type { Ledger } from './ledger.ts'
import type { Network } from './network.ts'
import type { Schedule } from './schedule.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { Weather } from './weather.ts'
import type { World } from './world.ts'

/** What an invariant may look at. It may not touch anything. */
export interface Scene {
  readonly schedule: Schedule
  readonly world: World
  readonly network: Network
  readonly processes: readonly SimulatedProcess[]
  readonly locks: readonly Locks[]
  readonly ledger: Ledger
  readonly weather: Weather
  /** The first failure ends the run. */
  readonly fail: (guarantee: string, message: string) => void
}

/** One guarantee, watched during a run. Each part is optional. */
export interface Invariant {
  /** After every fact, in the middle of a step: the ledger already knows it. */
  hear?(fact: Fact): void
  /** After every step, when all promise jobs have run. */
  look?(): void
  /** When every client is closed and every lease must have run out. */
  end?(): void
}

export interface Violation {
  readonly guarantee: string
  readonly message: string
  readonly time: number
}
