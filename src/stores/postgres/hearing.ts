import { createHash } from 'node:crypto'
import type { Ears, Hearing } from '../shared/push.ts'
import { channelOf, DIGEST, LONGEST_PLAIN_KEY, PLAIN } from './expressions.ts'
import { type Listened, Listener } from './listener.ts'

/** One connection that listens on the channel of this process, whatever the keys. */
export function hearingOn(
  waiter: string,
  ears: Ears,
  server: Pick<Listened, 'database' | 'notify'>,
): Hearing {
  const keys = new Set<string>()
  /** Long keys by what is sent for them. */
  const digests = new Map<string, string>()
  const listener = new Listener({
    ...server,
    channel: channelOf(waiter),
    heard: (payload) => {
      const key = payload.startsWith(PLAIN) ? payload.slice(PLAIN.length) : digests.get(payload)
      if (key !== undefined) ears.heard(key)
    },
    up: () => ears.up(keys),
  })
  return {
    hears: () => listener.up,
    add: (key) => {
      keys.add(key)
      if (isLong(key)) digests.set(digestOf(key), key)
    },
    delete: (key) => {
      keys.delete(key)
      if (isLong(key)) digests.delete(digestOf(key))
    },
    stop: () => listener.stop(),
  }
}

function isLong(key: string): boolean {
  return Buffer.byteLength(key) > LONGEST_PLAIN_KEY
}

function digestOf(key: string): string {
  return `${DIGEST}${createHash('sha256').update(key).digest('hex')}`
}
