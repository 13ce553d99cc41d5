import { setTimeout as pause } from 'node:timers/promises'
import { LockError } from '../errors.ts'
import type { Lease } from '../lease.ts'
import type { Locks } from '../locks.ts'

/** Long enough for a slow server, short enough for one who stops the program: what is left then runs out. */
export const PROBE_LEASE = '5s'

/** Times in milliseconds, at least one. */
export class Times {
  readonly #times: number[] = []

  get count(): number {
    return this.#times.length
  }

  add(ms: number): void {
    this.#times.push(ms)
  }

  /** `share` of all were as fast as this or faster. */
  quantile(share: number): number {
    const sorted = this.#times.toSorted((a, b) => a - b)
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
  }
}

/** A new name each time: two who measure the same store are not in each other's way. */
export function ownPrefix(what: string): string {
  return `holdfast:${what}:${process.pid.toString(36)}${Math.random().toString(36).slice(2, 10)}`
}

/** One task, one key, pair after pair, until `until` of `performance.now()` or `most` pairs. */
export async function timePairs(
  locks: Locks,
  key: string,
  until: number,
  most: number = Infinity,
): Promise<Times> {
  const times = new Times()
  do {
    const start = performance.now()
    const lease = await locks.acquire(key, { lease: PROBE_LEASE })
    await lease.release()
    times.add(performance.now() - start)
  } while (times.count < most && performance.now() < until)
  return times
}

/** Whether two clients have the same locks; those of `memory:` do not. */
export async function share(one: Locks, other: Locks, key: string): Promise<boolean> {
  const lease = await one.acquire(key, { lease: PROBE_LEASE })
  try {
    return (await other.inspect(key)) !== null
  } finally {
    await lease.release()
  }
}

/**
 * How long from the release by one client to the grant to another that waited, and that lease. Null if it did not come
 * within `wait`. The lease given is released in any case.
 */
export async function handOver(
  held: Lease,
  { from, to, wait }: { readonly from: Locks; readonly to: Locks; readonly wait: number },
): Promise<{ readonly ms: number; readonly lease: Lease } | null> {
  const waiting = to.acquire(held.key, { lease: PROBE_LEASE, wait }).then(
    (lease) => ({ lease, at: performance.now() }),
    (error: unknown) => error,
  )
  let start: number
  try {
    await noted(from, held.key, wait / 2)
  } finally {
    start = performance.now()
    await held.release()
  }
  const ended = await waiting
  if (typeof ended === 'object' && ended !== null && 'at' in ended) {
    const { lease, at } = ended as { lease: Lease; at: number }
    return { ms: at - start, lease }
  }
  if (ended instanceof LockError && ended.code === 'LOCK_ACQUIRE_TIMEOUT') return null
  throw ended
}

/** That it waits, as the store sees it. Its subscription is on its way then, and has a moment to arrive. */
async function noted(locks: Locks, key: string, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs
  while (performance.now() < end) {
    const start = performance.now()
    if ((await locks.inspect(key))?.wanted) return pause(Math.max(5, 2 * (performance.now() - start)))
    await pause(5)
  }
}
