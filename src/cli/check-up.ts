import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import { explain } from './failure.ts'
import { fine, type Tell } from './finding.ts'
import { ownPrefix, PROBE_LEASE, timePairs } from './probe.ts'
import { checkPush } from './push-check.ts'
import { milliseconds, period } from './text.ts'
import { version } from '../version.ts'
import { driversOf } from './drivers.ts'

const PAIRS = 50
const PAIRS_MS = 3000
/** Renewals come each third of a lease, and each has this long to arrive. */
const SLOW_MS = 500

/** Tells each finding as it comes, and goes no further than makes sense. Never rejects because of the store. */
export async function checkUp(openLocks: () => Promise<Locks>, tell: Tell): Promise<void> {
  tell(fine('versions', `holdfast ${version()}, Node ${process.versions.node}`))
  const clients: Locks[] = []
  const open = async (): Promise<Locks> => {
    const locks = await openLocks()
    clients.push(locks)
    return locks
  }
  try {
    const locks = await attempt('settings', tell, open)
    if (locks === FAILED) return
    tell(fine('settings', 'the configuration is valid'))
    if (!(await connects(locks, tell))) return
    const key = ownPrefix('doctor')
    if ((await attempt('rights', tell, () => lockCycle(locks, key, tell))) === FAILED) return
    const pairMs = await attempt('latency', tell, () => latency(locks, key, tell))
    if (pairMs === FAILED) return
    await attempt('push', tell, async () => checkPush([locks, await open()], key, pairMs, tell))
  } finally {
    await Promise.all(clients.map((locks) => locks.close()))
  }
}

const FAILED = Symbol('failed')

async function attempt<T>(name: string, tell: Tell, step: () => Promise<T>): Promise<T | typeof FAILED> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof LockError)) throw error
    tell({ name, state: 'failed', text: explain(error), fix: null })
    return FAILED
  }
}

async function connects(locks: Locks, tell: Tell): Promise<boolean> {
  // The first one opens the connection, and would be measured along.
  const first = await locks.health()
  const { ok, store, latencyMs, error } = first.ok ? await locks.health() : first
  const drivers = driversOf(store)
  if (drivers !== null) tell(fine('driver', drivers))
  if (ok) tell(fine('store', `${store} answers within ${milliseconds(latencyMs ?? 0)}`))
  else {
    const text = explain(error)
    // A silence says nothing of its cause; other errors say what to change.
    const fix = text.includes('did not answer') ? 'is the address right, and the way to it open?' : null
    tell({ name: 'store', state: 'failed', text, fix })
  }
  return ok
}

/** All that a client asks of a store, so all the rights that it needs. */
async function lockCycle(locks: Locks, key: string, tell: Tell): Promise<void> {
  const start = Date.now()
  const lease = await locks.acquire(key, { lease: PROBE_LEASE, context: 'holdfast doctor' })
  const end = Date.now()
  const { token } = lease
  const record = await locks.inspect(key)
  await lease.extend()
  const released = await lease.release()
  const second = await locks.acquire(key, { lease: PROBE_LEASE })
  const rises = second.token > token
  const evicted = await locks.forceRelease(key)
  await second[Symbol.asyncDispose]()
  const left = await locks.inspect(key)
  if (record === null || !released || !rises || evicted === null || left !== null) {
    const text = 'the store granted a lock and did not keep to it'
    tell({ name: 'rights', state: 'failed', text, fix: 'does anything else write to its tables or keys?' })
    return
  }
  tell(fine('rights', 'locked, looked, renewed, released and took away a key of its own'))
  const ahead = record.since - (start + end) / 2
  const off = Math.abs(ahead) <= end - start ? 'agree' : `differ by ${period(Math.abs(ahead))}`
  tell(fine('clocks', `the store and this machine ${off}; no lock depends on it`))
}

/** The median. */
async function latency(locks: Locks, key: string, tell: Tell): Promise<number> {
  const times = await timePairs(locks, key, performance.now() + PAIRS_MS, PAIRS)
  const [half, most] = [times.quantile(0.5), times.quantile(0.95)]
  const text = `lock and release: p50 ${milliseconds(half)}, p95 ${milliseconds(most)}`
  if (most < SLOW_MS) tell(fine('latency', text))
  else tell({ name: 'latency', state: 'warning', text, fix: 'use leases of 30 s or more, or a closer store' })
  return half
}
