/** One round of one scenario on Redis, in a process of its own; `../index.ts` starts it and hears the result. */
import type { Samples } from '../throughput.ts'
import type { RedisContender, RedisScenario } from './figures.ts'

/** Each loads only what it measures. */
const SCENARIOS: Record<RedisScenario, (contender: RedisContender) => Promise<Samples>> = {
  'redis-distinct-keys': async (contender) =>
    (await import('../scenarios/redis-distinct-keys.ts')).distinctKeys(contender),
  'redis-one-task': async () => (await import('../scenarios/redis-one-task.ts')).oneTask(),
  'redis-one-key': async (contender) => (await import('../scenarios/redis-one-key.ts')).oneKey(contender),
  'redis-processes': async (contender) =>
    (await import('../scenarios/redis-processes.ts')).processes(contender),
  'redis-turns': async (contender) => (await import('../scenarios/redis-turns.ts')).turns(contender),
  'redis-handover': async () => (await import('../scenarios/redis-handover.ts')).handover(),
  'redis-held-leases': async () => (await import('../scenarios/redis-held-leases.ts')).heldLeases(),
  'redis-election': async () => (await import('../scenarios/redis-election.ts')).election(),
  'redis-several-keys': async () => (await import('../scenarios/several-keys.ts')).onRedis(),
  'redis-memory': async () => (await import('../scenarios/redis-memory.ts')).memory(),
}

const [scenario, contender] = process.argv.slice(2) as [RedisScenario, string]
const samples = await SCENARIOS[scenario](JSON.parse(contender) as RedisContender)
// Some peers leave connections and timers behind.
process.send?.(samples, () => process.exit())
