import { Mutex, RedlockMutex } from 'redis-semaphore'
import { type Access, between, type Held, type Library, refused, type Taken, type Terms } from '../library.ts'
import { endClient, redisClient } from './redis-client.ts'

export async function redisSemaphore(access: Access): Promise<Library> {
  const clients = access.url.split(',').map((url) => redisClient({ ...access, url }))
  const [client] = clients
  if (!client) throw new Error('no server')
  const take = async (key: string, terms: Terms, more: { refreshInterval?: number }): Promise<Taken> => {
    const { leaseMs: lockTimeout, waitMs, signal } = terms
    const listeners: (() => void)[] = []
    const options = {
      lockTimeout,
      onLockLost: () => listeners.forEach((told) => told()),
      ...(waitMs === undefined
        ? {}
        : waitMs === 0
          ? { acquireAttemptsLimit: 1 }
          : { acquireTimeout: waitMs }),
      ...more,
    }
    const mutex =
      clients.length > 1 ? new RedlockMutex(clients, key, options) : new Mutex(client, key, options)
    if (!(await mutex.tryAcquire(signal))) throw refused(key)
    const held: Held = { onLoss: (told) => listeners.push(told), says: () => mutex.isAcquired }
    return { ...held, release: () => mutex.release() }
  }
  return {
    section: async (key, terms, body) => between(await take(key, terms, {}), body),
    take: (key, terms) => take(key, terms, { refreshInterval: 0 }),
    close: async () => void (await Promise.all(clients.map(endClient))),
  }
}
