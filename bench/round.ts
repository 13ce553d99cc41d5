/** One round of one scenario, in a process of its own; `index.ts` starts it and hears the result. */
import type { Scenario } from './figures.ts'
import type { Samples } from './throughput.ts'

/** Each loads only what it measures. */
const SCENARIOS: Record<Scenario, () => Promise<Samples>> = {
  'one-key': async () => (await import('./scenarios/one-key.ts')).viaHoldfast(),
  'one-key-async-mutex': async () => (await import('./scenarios/one-key.ts')).viaAsyncMutex(),
  'distinct-keys': async () => (await import('./scenarios/distinct-keys.ts')).onMemory(),
  'distinct-keys-async-mutex': async () => (await import('./scenarios/distinct-keys.ts')).viaAsyncMutex(),
  'distinct-keys-sqlite': async () => (await import('./scenarios/distinct-keys.ts')).onSqlite(),
  'held-leases': async () => (await import('./scenarios/held-leases.ts')).onMemory(),
  'held-leases-sqlite': async () => (await import('./scenarios/held-leases.ts')).onSqlite(),
  'waiting-for-one-key': async () => (await import('./scenarios/footprint.ts')).waitingForOneKey(),
  'waiting-for-many-keys': async () => (await import('./scenarios/footprint.ts')).waitingForManyKeys(),
  'heap-of-held-leases': async () => (await import('./scenarios/footprint.ts')).heldLeases(),
  'million-keys': async () => (await import('./scenarios/million-keys.ts')).oneAfterTheOther(),
}

const scenario = process.argv[2] as Scenario
process.send?.(await SCENARIOS[scenario]())
process.disconnect?.()
