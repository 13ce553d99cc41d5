import { type Lock, LockFactory } from '@verrou/core'
import { knexStore } from '@verrou/core/drivers/knex'
import { memoryStore } from '@verrou/core/drivers/memory'
import { redisStore } from '@verrou/core/drivers/redis'
import knex from 'knex'
import { type Access, type Held, type Library, refused } from '../library.ts'
import { endClient, redisClient } from './redis-client.ts'

export async function onRedis(access: Access): Promise<Library> {
  const connection = redisClient(access)
  return library(new LockFactory(redisStore({ connection }).factory()), () => endClient(connection))
}

export async function onPostgres({ url }: Access): Promise<Library> {
  const connection = knex({ client: 'pg', connection: url })
  return library(new LockFactory(knexStore({ connection }).factory()), () => connection.destroy())
}

const memory = memoryStore().factory()

/** One store for all that this process opens: as if it were a server. */
export async function onMemory(): Promise<Library> {
  return library(new LockFactory(memory), async () => undefined)
}

function library(factory: LockFactory, close: () => Promise<unknown>): Library {
  return {
    section: async (key, { leaseMs }, body) => {
      const lock = factory.createLock(key, leaseMs)
      const [ran, result] = await lock.run(() => body(held(lock)))
      if (!ran) throw refused(key)
      return result
    },
    take: async (key, { leaseMs, waitMs }) => {
      const lock = factory.createLock(key, leaseMs)
      const got =
        waitMs === 0
          ? await lock.acquireImmediately()
          : await lock.acquire(waitMs === undefined ? undefined : { retry: { timeout: waitMs } })
      if (!got) throw refused(key)
      return { ...held(lock), release: () => lock.release() }
    },
    close,
  }
}

function held(lock: Lock): Held {
  return { says: () => !lock.isExpired() }
}
