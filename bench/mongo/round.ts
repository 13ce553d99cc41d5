/** One round of one scenario on MongoDB, in a process of its own; `../index.ts` starts it and hears the result. */
import type { Samples } from '../throughput.ts'
import type { MongoContender, MongoScenario } from './figures.ts'

/** Each loads only what it measures. */
const SCENARIOS: Record<MongoScenario, (contender: MongoContender) => Promise<Samples>> = {
  'mongo-new-keys': async (contender) =>
    (await import('../scenarios/mongo-distinct-keys.ts')).newKeys(contender),
  'mongo-known-keys': async (contender) =>
    (await import('../scenarios/mongo-distinct-keys.ts')).knownKeys(contender),
  'mongo-one-task': async () => (await import('../scenarios/mongo-one-task.ts')).oneTask(),
  'mongo-one-key': async (contender) => (await import('../scenarios/mongo-one-key.ts')).oneKey(contender),
  'mongo-processes': async (contender) =>
    (await import('../scenarios/mongo-processes.ts')).processes(contender),
  'mongo-turns': async (contender) => (await import('../scenarios/mongo-turns.ts')).turns(contender),
  'mongo-handover': async () => (await import('../scenarios/mongo-handover.ts')).handover(),
  'mongo-held-leases': async () => (await import('../scenarios/held-leases.ts')).onMongo(),
}

const [scenario, contender] = process.argv.slice(2) as [MongoScenario, string]
const samples = await SCENARIOS[scenario](JSON.parse(contender) as MongoContender)
// Peers leave connections and timers behind.
process.send?.(samples, () => process.exit())
