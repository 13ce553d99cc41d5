import { createClient } from 'redis'
import { lock, type ReleaseFunc, tryLock } from 'simple-redis-mutex'
import { type Access, between, type Library, refused, type Taken, type Terms } from '../library.ts'

type Client = Parameters<typeof lock>[0]

export async function simpleRedisMutex({ url, commandTimeoutMs }: Access): Promise<Library> {
  const limit = commandTimeoutMs === undefined ? {} : { commandOptions: { timeout: commandTimeoutMs } }
  const client = createClient({ url, ...limit })
  client.on('error', () => {})
  await client.connect()
  const take = async (key: string, { leaseMs: timeout, waitMs }: Terms): Promise<Taken> => {
    if (waitMs === 0) {
      const [got, release] = await tryLock(client as Client, key, { timeout })
      if (!got) throw refused(key)
      return taken(release)
    }
    const limits = waitMs === undefined ? {} : { failAfter: waitMs }
    return taken(await lock(client as Client, key, { timeout, ...limits }))
  }
  return {
    section: async (key, terms, body) => between(await take(key, terms), body),
    take,
    close: async () => client.destroy(),
  }
}

function taken(release: ReleaseFunc): Taken {
  return { token: BigInt(release.fencingToken), release }
}
