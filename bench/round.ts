/** One round of one scenario, in a process of its own; `index.ts` starts it and hears the result. */
import type { Contender, Scenario } from './figures.ts'
import type { Samples } from './throughput.ts'

/** Each loads only what it measures. */
const SCENARIOS: Record<Scenario, (contender: Contender) => Promise<Samples>> = {
  'one-key': async () => (await import('./scenarios/one-key.ts')).viaHoldfast(),
  'one-key-async-mutex': async () => (await import('./scenarios/one-key.ts')).viaAsyncMutex(),
  'distinct-keys': async () => (await import('./scenarios/distinct-keys.ts')).onMemory(),
  'distinct-keys-async-mutex': async () => (await import('./scenarios/distinct-keys.ts')).viaAsyncMutex(),
  'held-leases': async () => (await import('./scenarios/held-leases.ts')).onMemory(),
  'held-leases-sqlite': async () => (await import('./scenarios/held-leases.ts')).onSqlite(),
  'waiting-for-one-key': async () => (await import('./scenarios/footprint.ts')).waitingForOneKey(),
  'waiting-for-many-keys': async () => (await import('./scenarios/footprint.ts')).waitingForManyKeys(),
  'heap-of-held-leases': async () => (await import('./scenarios/footprint.ts')).heldLeases(),
  'million-keys': async () => (await import('./scenarios/million-keys.ts')).oneAfterTheOther(),
  'watching-distinct-keys': async () => (await import('./scenarios/watching.ts')).distinctKeys(),
  'watching-one-key': async () => (await import('./scenarios/watching.ts')).oneKey(),
  lockable: async () => (await import('./scenarios/lockable.ts')).overUsing(),
  'postgres-new-keys': async (contender) =>
    (await import('./scenarios/postgres-distinct-keys.ts')).newKeys(contender),
  'postgres-known-keys': async (contender) =>
    (await import('./scenarios/postgres-distinct-keys.ts')).knownKeys(contender),
  'postgres-one-task': async () => (await import('./scenarios/postgres-one-task.ts')).oneTask(),
  'postgres-one-key': async (contender) =>
    (await import('./scenarios/postgres-one-key.ts')).oneKey(contender),
  'postgres-one-key-tasks': async (contender) =>
    (await import('./scenarios/postgres-one-key-tasks.ts')).oneKey(contender),
  'postgres-handover': async () => (await import('./scenarios/postgres-handover.ts')).handover(),
  'postgres-held-leases': async () => (await import('./scenarios/held-leases.ts')).onPostgres(),
  'postgres-turns': async () => (await import('./scenarios/postgres-turns.ts')).turns(),
  'postgres-several-keys': async () => (await import('./scenarios/several-keys.ts')).onPostgres(),
  'postgres-plans': async () => (await import('./scenarios/postgres-plans.ts')).plans(),
  'postgres-growth-known-keys': async () => (await import('./scenarios/postgres-growth.ts')).knownKeys(),
  'postgres-growth-new-keys': async () => (await import('./scenarios/postgres-growth.ts')).newKeys(),
}

const [scenario, contender] = process.argv.slice(2) as [Scenario, string]
process.send?.(await SCENARIOS[scenario](JSON.parse(contender) as Contender))
process.disconnect?.()
