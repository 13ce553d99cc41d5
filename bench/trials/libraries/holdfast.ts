import type { Lease, Locks } from '../../../src/index.ts'
import { holdfast, importMongo, importPostgres, importRedis } from '../../built.ts'
import { type Access, type Held, type Library, onAbort, type Terms } from '../library.ts'
import { endClient, redisClient } from './redis-client.ts'

export async function onRedis(access: Access): Promise<Library> {
  const { redisStore } = await importRedis()
  const client = redisClient(access)
  return library(holdfast.createLocks(redisStore(client), { logger: null }), () => endClient(client))
}

export async function onPostgres({ url }: Access): Promise<Library> {
  const { postgresStore } = await importPostgres()
  return library(holdfast.createLocks(postgresStore(url), { logger: null }))
}

export async function onMongo({ url }: Access): Promise<Library> {
  const { MongoClient } = await import('mongodb')
  const { mongoStore } = await importMongo()
  const client = new MongoClient(url)
  return library(holdfast.createLocks(mongoStore(client), { logger: null }), () => client.close())
}

let memory: ReturnType<typeof holdfast.memoryStore> | undefined

/** One store for all that this process opens: as if it were a server. */
export async function onMemory(): Promise<Library> {
  memory ??= holdfast.memoryStore()
  return library(holdfast.createLocks(memory, { logger: null }))
}

function library(locks: Locks, end: () => Promise<unknown> = async () => undefined): Library {
  return {
    section: (key, terms, body) => locks.using(key, options(terms), (lease) => body(held(lease))),
    take: async (key, terms) => taken(await locks.acquire(key, { ...options(terms), renew: false })),
    takeAll: async (keys, terms) => {
      const lease = await locks.acquire(keys, { ...options(terms), renew: false })
      return { release: () => lease.release() }
    },
    evict: async (key) => void (await locks.forceRelease(key)),
    close: async () => {
      await locks.close()
      await end()
    },
  }
}

function options({ leaseMs, waitMs, signal }: Terms): { lease: number; wait?: number; signal?: AbortSignal } {
  return {
    lease: leaseMs,
    ...(waitMs === undefined ? {} : { wait: waitMs }),
    ...(signal ? { signal } : {}),
  }
}

function held(lease: Lease): Held {
  // A signal is made when it is asked for.
  return { onLoss: (told) => onAbort(lease.signal)(told), says: () => lease.held, token: lease.token }
}

function taken(lease: Lease): Held & { release(): Promise<boolean> } {
  return { ...held(lease), release: () => lease.release() }
}
