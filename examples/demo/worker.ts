/**
 * One of the contenders: takes a key, works, gives it back, over and over. The work is a read and, a
 * while later, a write of read + 1: if two were ever inside at once, the counter would miss one.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type Lease } from '../../src/index.ts'
import { counterFile, KEYS, LEASE_MS, type Order, type Report } from './plan.ts'

const [file = '', name = ''] = process.argv.slice(2)
const folder = dirname(file)
const locks = createLocks(`sqlite:${file}`, {
  service: 'demo',
  instance: `${name}, pid ${process.pid}`,
  lease: LEASE_MS,
  wait: Infinity,
  logger: null,
})

let lingerOn: string | null = null
let stopping = false

locks.on('granted', ({ key, token, previous }) => {
  report({ is: 'holding', key, token, tookOverFrom: previous?.instance ?? null })
})

process.on('message', (order: Order) => {
  if (order.do === 'linger') lingerOn = order.key
  else void stop()
})
// Ctrl-C in a terminal reaches every process of the group. The demonstration tells us when to stop.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => {
  if (stopping) return
  // The demonstration was killed, so nobody else is left to tidy up.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  process.exit(1)
})

async function work(): Promise<void> {
  for (;;) {
    for (const key of shuffled(KEYS)) {
      const next = lingerOn ?? key
      report({ is: 'waiting', key: next })
      await locks.using(next, (lease) => (lingerOn === next ? linger(lease) : raiseCounter(lease)))
      report({ is: 'resting' })
      await sleep(between(50, 250))
    }
  }
}

async function raiseCounter(lease: Lease): Promise<void> {
  const counter = counterFile(folder, lease.key)
  const before = Number(readFileSync(counter, 'utf8'))
  await sleep(between(250, 750), undefined, { signal: lease.signal })
  lease.assertHeld()
  writeFileSync(counter, String(before + 1))
  report({ is: 'done', key: lease.key })
}

async function linger(lease: Lease): Promise<void> {
  report({ is: 'lingering' })
  await sleep(600_000, undefined, { signal: lease.signal })
}

async function stop(): Promise<void> {
  stopping = true
  await locks.close()
  process.disconnect()
}

function report(what: Report): void {
  if (process.connected) process.send?.(what)
}

function between(low: number, high: number): number {
  return low + Math.random() * (high - low)
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

report({ is: 'ready' })
try {
  await work()
} catch (error) {
  // Closing turns waiters away and aborts the work in hand; anything else should not happen.
  if (!stopping) {
    report({ is: 'failed', why: String(error) })
    await stop()
    process.exitCode = 1
  }
}
