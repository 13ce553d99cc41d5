import { EventEmitter } from 'node:events'
import { Redisson } from 'node-redisson'
import { type Access, between, type Library, refused } from '../library.ts'

/** It opens its own clients. Waiters are woken by `pubsub`, which is the default, or by `streams`. */
export async function redisson(
  { url, commandTimeoutMs }: Access,
  eventAdapter: 'pubsub' | 'streams' = 'pubsub',
): Promise<Library> {
  EventEmitter.defaultMaxListeners = 0
  const { hostname: host, port } = new URL(url)
  const limit = commandTimeoutMs === undefined ? {} : { commandTimeout: commandTimeoutMs }
  const options = { host, port: Number(port), ...limit }
  // The lease that it renews is a setting of the client.
  const clients = new Map<number, Redisson>()
  const clientFor = (leaseMs: number): Redisson => {
    const client =
      clients.get(leaseMs) ??
      new Redisson({ redis: { options }, lockWatchdogTimeout: BigInt(leaseMs), eventAdapter })
    clients.set(leaseMs, client)
    return client
  }
  return {
    section: async (key, { leaseMs }, body) => {
      const lock = clientFor(leaseMs).getLock(key)
      await lock.lock()
      return between({ release: () => lock.unlock() }, body)
    },
    take: async (key, { leaseMs, waitMs }) => {
      const lock = clientFor(leaseMs).getLock(key)
      if (!(await lock.tryLock(waitMs ?? false, leaseMs))) throw refused(key)
      return { release: () => lock.unlock() }
    },
    close: async () => {
      for (const client of clients.values()) await client.quit()
    },
  }
}
