import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { withDatabase as withMariadb } from '../mariadb/server.ts'
import { withDatabase as withMongo } from '../mongo/server.ts'
import { withDatabase as withPostgres } from '../postgres/database.ts'
import { withFile } from '../sqlite/file.ts'
import { storeAt } from '../store-at.ts'
import type { Samples } from '../throughput.ts'

const LEASES = 10_000
const LEASE_MS = 30_000
/** A lease is renewed at a third of its length. */
const PERIOD_MS = LEASE_MS / 3
const STEPS = 100
const PERIODS = 3

export function onMemory(): Promise<Samples> {
  return measure(holdfast.memoryStore())
}

export function onSqlite(): Promise<Samples> {
  return withFile(async (file) => measure(await storeAt('sqlite', file)))
}

export function onPostgres(): Promise<Samples> {
  return withPostgres(async (url) => measure(await storeAt('postgres', url)))
}

export function onMongo(): Promise<Samples> {
  return withMongo(async (url) => measure(await storeAt('mongo', url)))
}

export function onMariadb(): Promise<Samples> {
  return withMariadb(async (url) => measure(await storeAt('mariadb', url)))
}

/** Leases are taken evenly over one period, as by a program under steady load, and then only kept. */
async function measure(store: Store): Promise<Samples> {
  let called = 0
  const locks = holdfast.createLocks(
    counting(store, () => (called += 1)),
    { lease: LEASE_MS },
  )
  for (let step = 0; step < STEPS; step += 1) {
    const keys = Array.from({ length: LEASES / STEPS }, (_, i) => `key ${step}:${i}`)
    await Promise.all([...keys.map((key) => locks.acquire(key)), sleep(PERIOD_MS / STEPS)])
  }
  // The first renewals are those of the acquisition's own rhythm.
  await sleep(PERIOD_MS)
  const calls: number[] = []
  const corePercent: number[] = []
  for (let period = 0; period < PERIODS; period += 1) {
    called = 0
    const cpu = process.cpuUsage()
    const start = performance.now()
    await sleep(PERIOD_MS)
    const { user, system } = process.cpuUsage(cpu)
    corePercent.push((user + system) / 10 / (performance.now() - start))
    calls.push(called)
  }
  const { held, lost } = locks.stats()
  if (held !== LEASES || lost !== 0) throw new Error(`${held} leases are held and ${lost} were lost`)
  await locks.close()
  return { calls, corePercent }
}

function counting(store: Store, onCall: () => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => {
        onCall()
        return Reflect.apply(member, target, args)
      }
    },
  })
}
