import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { holdfast, importRedis } from '../built.ts'
import { between, callsOf, commandStats } from '../redis/command-stats.ts'
import { onServer, withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const LEASES = 10_000
const LEASE_MS = 30_000
/** A lease is renewed at a third of its length. */
const PERIOD_MS = LEASE_MS / 3
const STEPS = 100
const PERIODS = 2

const SCRIPTS = ['evalsha', 'eval']
const THRESHOLD = 'slowlog-log-slower-than'
/** The commands inside a script are faster: they are not logged, which would take longer than they do. */
const THRESHOLD_US = 100

/** Leases are taken evenly over one period, as by a program under steady load, and then only kept. */
export function heldLeases(): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const client = new Redis(url)
    const { redisStore } = await importRedis()
    const locks = holdfast.createLocks(redisStore(client, { prefix }), { lease: LEASE_MS })
    for (let step = 0; step < STEPS; step += 1) {
      const keys = Array.from({ length: LEASES / STEPS }, (_, i) => `key ${step}:${i}`)
      await Promise.all([...keys.map((key) => locks.acquire(key)), sleep(PERIOD_MS / STEPS)])
    }
    // The first renewals are those of the acquisition's own rhythm.
    await sleep(PERIOD_MS)
    const samples = await onServer(url, (observer) => watched(observer))
    const { held, lost } = locks.stats()
    if (held !== LEASES || lost !== 0) throw new Error(`${held} leases are held and ${lost} were lost`)
    await locks.close()
    await client.quit()
    return samples
  })
}

async function watched(observer: Redis): Promise<Samples> {
  const [, threshold = ''] = (await observer.config('GET', THRESHOLD)) as string[]
  const samples: Record<'calls' | 'callMs' | 'longestMs' | 'corePercent' | 'serverPercent', number[]> = {
    calls: [],
    callMs: [],
    longestMs: [],
    corePercent: [],
    serverPercent: [],
  }
  await observer.config('SET', THRESHOLD, THRESHOLD_US)
  for (let period = 0; period < PERIODS; period += 1) {
    await observer.slowlog('RESET')
    const before = await commandStats(observer)
    const cpu = process.cpuUsage()
    const start = performance.now()
    await sleep(PERIOD_MS)
    const wallMs = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    const stats = between(before, await commandStats(observer))
    const calls = callsOf(stats, SCRIPTS)
    const busyMs = SCRIPTS.reduce((sum, name) => sum + (stats.get(name)?.us ?? 0), 0) / 1000
    samples.calls.push(calls)
    samples.callMs.push(busyMs / calls)
    samples.longestMs.push(await longestScript(observer))
    samples.corePercent.push((user + system) / 10 / wallMs)
    samples.serverPercent.push((100 * busyMs) / wallMs)
  }
  await observer.config('SET', THRESHOLD, threshold)
  return samples
}

/** In ms, of those since the log was reset: it keeps 128, and there are fewer. */
async function longestScript(observer: Redis): Promise<number> {
  const entries = (await observer.slowlog('GET', 128)) as [number, number, number, string[]][]
  const scripts = entries.filter(([, , , [name = '']]) => SCRIPTS.includes(name.toLowerCase()))
  return Math.max(THRESHOLD_US, ...scripts.map(([, , us]) => us)) / 1000
}
