import { giveBack, prepare, take } from '../../redis/raw.ts'
import { type Access, between, type Library } from '../library.ts'
import { endClient, redisClient } from './redis-client.ts'

/** What one writes by hand: `SET NX PX`, and a script that compares and deletes. */
export async function rawCommands(access: Access): Promise<Library> {
  const client = redisClient(access)
  await prepare(client)
  const takeKey = async (key: string) => {
    const owner = await take(client, key)
    return { release: () => giveBack(client, key, owner) }
  }
  return {
    section: async (key, _terms, body) => between(await takeKey(key), body),
    take: takeKey,
    close: () => endClient(client),
  }
}
