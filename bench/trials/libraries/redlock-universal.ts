import { createLock, createRedlock, IoredisAdapter, type Lock, LockManager } from 'redlock-universal'
import { type Access, type Library, onAbort, type Terms } from '../library.ts'
import { endClient, redisClient } from './redis-client.ts'

/** The intervals at which it asks again: with one server, and with several. */
const RETRY_MS = 100
const VOTE_RETRY_MS = 200

export async function redlockUniversal(access: Access): Promise<Library> {
  const urls = access.cluster ? [access.url] : access.url.split(',')
  const clients = urls.map((url) => redisClient({ ...access, url }))
  const adapters = clients.map((client) => new IoredisAdapter(client))
  const [adapter] = adapters
  if (!adapter) throw new Error('no server')
  const lockOf = (key: string, { leaseMs: ttl, waitMs }: Terms): Lock => {
    const retries = (ms: number): { retryAttempts?: number } =>
      waitMs === undefined ? {} : { retryAttempts: Math.ceil(waitMs / ms) }
    return adapters.length > 1
      ? createRedlock({ adapters, key, ttl, ...retries(VOTE_RETRY_MS) })
      : createLock({ adapter, key, ttl, ...retries(RETRY_MS) })
  }
  return {
    section: (key, terms, body) =>
      lockOf(key, terms).using((signal) => body({ onLoss: onAbort(signal), says: () => !signal.aborted })),
    take: async (key, terms) => {
      const lock = lockOf(key, terms)
      const handle = await lock.acquire()
      return { release: () => lock.release(handle) }
    },
    takeAll: async (keys, { leaseMs: ttl }) => {
      const manager = new LockManager({ nodes: adapters })
      const handles = await manager.acquireBatch([...keys], { ttl })
      return { release: () => manager.releaseBatch(handles) }
    },
    close: async () => void (await Promise.all(clients.map(endClient))),
  }
}
