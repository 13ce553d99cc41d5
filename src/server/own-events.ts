import type { Environment } from '../environment.ts'
import type { LockEvent, LockEvents } from '../events.ts'
import type { Locks } from '../locks.ts'
import type { Feed } from './feed.ts'
import type { Observer } from './observer.ts'
import { publicMessage } from './public-message.ts'
import type { EventJson } from './wire.ts'

/** Of one kind: a storm of them would push all else out of what can be resumed from. */
const MOST_PER_SECOND = 20

type Told = Pick<EventJson, 'key' | 'text'>
type Descriptions = { readonly [E in LockEvent]?: (event: LockEvents[E]) => Told }

/** The rare ones. Grants and releases are seen in the store, and to listen to each would cost every lock something. */
const DESCRIPTIONS: Descriptions = {
  lost: ({ key, heldMs, reason }) => ({
    key,
    text: `lost after ${whole(heldMs)} ms: ${publicMessage(reason.message)}`,
  }),
  timeout: ({ key, waitedMs, holder }) => ({
    key,
    text: `given up after ${whole(waitedMs)} ms${holder ? `; held by ${holder.service} ${holder.instance}` : ''}`,
  }),
  'renewal-failed': ({ key, remainingMs, error }) => ({
    key,
    text: `not renewed, ${whole(remainingMs)} ms left to try again: ${publicMessage(error.message)}`,
  }),
  evicted: ({ key, record: { grant, holder } }) => ({
    key,
    text: `freed by force; it was held by ${holder.service} ${holder.instance}, grant ${grant}`,
  }),
  elected: ({ name, number }) => ({ key: name, text: `leads; term ${number}` }),
  'term-ended': ({ name, number, why }) => ({ key: name, text: `leads no more; term ${number}: ${why}` }),
  'term-overrun': ({ name, number, overdueMs }) => ({
    key: name,
    text: `term ${number} still runs ${whole(overdueMs)} ms after it was told to stop`,
  }),
  error: ({ error }) => ({ key: error.key ?? null, text: publicMessage(error.message) }),
  alert: ({ key, message }) => ({ key, text: message }),
}

/** Passes the events of this process on to the feed, until the result is called. */
export function passOn(locks: Locks, env: Environment, feed: Feed, observer: Observer): () => void {
  let second = 0
  const counts = new Map<LockEvent, number>()
  const tell = (name: LockEvent, told: () => Told): void => {
    const now = Math.floor(env.now() / 1000)
    if (now !== second) counts.clear()
    second = now
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    if (count <= MOST_PER_SECOND) feed.publish('event', { name, at: Date.now(), ...told() })
  }
  const listen = (name: LockEvent): (() => void) => {
    const describe = DESCRIPTIONS[name] as (event: unknown) => Told
    return locks.on(name, (event) => tell(name, () => describe(event)))
  }
  const offs = [
    ...(Object.keys(DESCRIPTIONS) as LockEvent[]).map((name) => listen(name)),
    locks.on('evicted', ({ record }) => observer.forced(record)),
  ]
  return () => offs.forEach((off) => off())
}

function whole(ms: number): number {
  return Math.round(ms)
}
