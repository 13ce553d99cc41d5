import { setTimeout as pause } from 'node:timers/promises'
import { createLocks, type Locks } from '../../../src/locks.ts'
import { listenLocks } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { TOKEN } from './dashboard.ts'

const LEASES = ['30s', '45s', '20s', '2m', '1m', '10s'] as const
const HELD = [
  ['orders', 'order:4711', 'checkout of cart 88213'],
  ['orders', 'order:4712', 'checkout of cart 88220'],
  ['orders', 'order:4718', 'refund, asked for by support'],
  ['orders', 'customer:1093:address', undefined],
  ['billing', 'invoice:2026-11', 'month end, step 3 of 7'],
  ['billing', 'invoice:2026-11:eu', 'month end, step 3 of 7'],
  ['billing', 'ledger:close', undefined],
  ['stock', 'stock:warehouse-2:count', 'nightly count'],
  ['stock', 'stock:warehouse-5:count', 'nightly count'],
  ['mailer', 'newsletter:winter', 'sends 41,200 mails'],
  ['search', 'reindex:products', 'full, since the schema changed'],
  ['search', 'reindex:reviews', undefined],
  ['leader', 'scheduler', 'term 12'],
] as const
const CONTENDED = ['stock:sku-1', 'stock:sku-2', 'stock:sku-3', 'order:4711:lines']

/** A small fleet at work, and a dashboard that looks at it. */
export async function busyShop(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const store = memoryStore()
  const names = [...new Set(HELD.map(([service]) => service))]
  const fleet = new Map<string, Locks>()
  for (const [i, service] of names.entries()) {
    const instance = `${service}-${i + 1}`
    fleet.set(
      service,
      createLocks(store, { service, instance, logger: null, wait: '20s', lease: LEASES[i]! }),
    )
  }
  for (const [service, key, context] of HELD) await fleet.get(service)!.acquire(key, { context })
  const stop = new AbortController()
  const work = [...fleet.values()].flatMap((locks) => [
    keepBusy(locks, stop.signal),
    keepBusy(locks, stop.signal),
  ])
  const desk = fleet.get('orders')!
  const { url } = await listenLocks(desk, { port: 0, token: TOKEN, audit: () => {} })
  return {
    url,
    async close() {
      stop.abort()
      await Promise.all([...fleet.values()].map((locks) => locks.close()))
      await Promise.all(work)
    },
  }
}

async function keepBusy(locks: Locks, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const key = CONTENDED[Math.floor(Math.random() * CONTENDED.length)]!
    await locks.using(key, { signal }, () => pause(20 + Math.random() * 200)).catch(() => {})
    await pause(Math.random() * 100)
  }
}
