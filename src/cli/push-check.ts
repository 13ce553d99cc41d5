import type { Locks } from '../locks.ts'
import { fine, type Tell } from './finding.ts'
import { handOver, PROBE_LEASE, share, Times } from './probe.ts'
import { milliseconds } from './text.ts'

/** A waiter that is not woken has to give up first: a poll comes after half of its pace at the earliest. */
const WAIT_MS = 1500
const POLL_MS = 3 * WAIT_MS
/** Stores look each 100 ms for keys that they hear nothing of: the median then is far from that of a message. */
const POLLED_MS = 20
const ROUND_TRIPS = 5
const HAND_OVERS = 15

/** Whether a waiter of one client is woken by the release of another. `pairMs`: what a lock and its release take. */
export async function checkPush(
  [one, other]: readonly [Locks, Locks],
  key: string,
  pairMs: number,
  tell: Tell,
): Promise<void> {
  if (!(await share(one, other, key))) {
    const text = 'a second client does not see the locks of the first'
    tell({
      name: 'push',
      state: 'warning',
      text,
      fix: 'memory: is for one process; for several, use a server',
    })
    return
  }
  const times = await handOvers(one, other, key)
  if (times === null) {
    tell({
      name: 'push',
      state: 'warning',
      text: 'waiters of other clients are not woken: they poll',
      fix: FIX,
    })
    return
  }
  const ms = times.quantile(0.5)
  const text = `a waiter of another client has the lock ${milliseconds(ms)} after its release`
  if (ms < POLLED_MS || ms < ROUND_TRIPS * pairMs) tell(fine('push', text))
  else tell({ name: 'push', state: 'warning', text: `${text}: it polls`, fix: FIX })
}

const FIX =
  'is push or listen off, a pooler in between, MongoDB without a replica set, or MySQL, which has none? See docs/stores'

/** Null if one was not woken at all. */
async function handOvers(one: Locks, other: Locks, key: string): Promise<Times | null> {
  other.configure({ poll: { min: POLL_MS, max: POLL_MS } })
  const times = new Times()
  while (times.count < HAND_OVERS) {
    const held = await one.acquire(key, { lease: PROBE_LEASE })
    const result = await handOver(held, { from: one, to: other, wait: WAIT_MS })
    if (result === null) return null
    await result.lease.release()
    times.add(result.ms)
  }
  return times
}
