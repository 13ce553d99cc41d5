import { EventEmitter } from 'node:events'
import { Redlock } from '@sesamecare-oss/redlock'
import { LockFactory } from '@verrou/core'
import { redisStore } from '@verrou/core/drivers/redis'
import { Redis } from 'ioredis'
import { Redisson } from 'node-redisson'
import { Mutex } from 'redis-semaphore'
import { createLock, IoredisAdapter } from 'redlock-universal'
import type { Opened } from '../opened.ts'

/** Long enough for whoever is unlucky while all others poll. */
const WAIT_MS = 120_000
const LEASE_MS = 30_000
const SHORT_LEASE_MS = 1_000
/** Those that only count their attempts. */
const MANY = 1_000_000

export function viaRedisSemaphore(url: string, pollMs: number): Opened {
  const client = new Redis(url)
  const options = { lockTimeout: LEASE_MS, acquireTimeout: WAIT_MS, retryInterval: pollMs }
  return {
    async lock(key) {
      const mutex = new Mutex(client, key, options)
      await mutex.acquire()
      return () => mutex.release()
    },
    close: () => client.quit(),
  }
}

export function viaRedlock(url: string, pollMs: number): Opened {
  const client = new Redis(url)
  const redlock = new Redlock([client], { retryCount: MANY, retryDelay: pollMs, retryJitter: pollMs / 2 })
  return {
    async lock(key) {
      const lock = await redlock.acquire([key], LEASE_MS)
      return () => lock.release()
    },
    close: () => client.quit(),
  }
}

export function viaVerrou(url: string, pollMs: number): Opened {
  const client = new Redis(url)
  const factory = new LockFactory(redisStore({ connection: client }).factory(), { retry: { delay: pollMs } })
  return {
    async lock(key) {
      const lock = factory.createLock(key, LEASE_MS)
      if (!(await lock.acquire())) throw new Error(`could not get "${key}"`)
      return () => lock.release()
    },
    close: () => client.quit(),
  }
}

/** As lean as it can be told to be: else it sends a PING for each new lock, too. */
export function viaRedlockUniversal(url: string, pollMs: number): Opened {
  const client = new Redis(url)
  const adapter = new IoredisAdapter(client)
  const options = {
    adapter,
    ttl: LEASE_MS,
    retryAttempts: MANY,
    retryDelay: pollMs,
    performance: 'lean',
  } as const
  return {
    async lock(key) {
      const lock = createLock({ ...options, key })
      const handle = await lock.acquire()
      return async () => {
        if (!(await lock.release(handle))) throw new Error(`"${key}" was not ours`)
      }
    },
    close: () => client.quit(),
  }
}

/**
 * Does not poll: whoever releases a key tells all who wait. What it leaves open ends with the process: among that a
 * timer for each wait, as long as a lease, which ends the subscription of whoever waits by then. So with `pubsub`,
 * its default, the lease has to be longer than a round; and only one task of a process may wait for a key, since the
 * first that is woken ends the subscription of the others. With `streams` neither is so, but a wake-up can be missed,
 * and then it waits for a lease to run out: a short one is better.
 */
export function viaRedisson(url: string, eventAdapter: 'pubsub' | 'streams'): Opened {
  // Else each task that waits is worth a warning to it.
  EventEmitter.defaultMaxListeners = 0
  const { hostname, port, username, password } = new URL(url)
  const options = { host: hostname, port: Number(port), username, password }
  const redisson = new Redisson({
    redis: { options },
    lockWatchdogTimeout: BigInt(eventAdapter === 'pubsub' ? LEASE_MS : SHORT_LEASE_MS),
    eventAdapter,
  })
  return {
    async lock(key) {
      const lock = redisson.getLock(key)
      await lock.lock()
      return () => lock.unlock()
    },
    close: async () => undefined,
  }
}
