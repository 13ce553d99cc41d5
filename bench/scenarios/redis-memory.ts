import { Redis } from 'ioredis'
import { holdfast, importRedis } from '../built.ts'
import { giveBack, prepare, take } from '../redis/raw.ts'
import { infoOf, onServer, withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const KEYS = 10_000

/** What each of so many held keys adds to `used_memory`. */
export function memory(): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const client = new Redis(url)
    const { redisStore } = await importRedis()
    const locks = holdfast.createLocks(redisStore(client, { prefix }), { service: 'orders' })
    await prepare(client)
    const keys = Array.from({ length: KEYS }, (_, i) => `order:${100_000 + i}`)
    const samples = await onServer(url, async (observer) => {
      const used = async (): Promise<number> => Number(await infoOf(observer, 'memory', 'used_memory'))
      const added = async (work: () => Promise<unknown>): Promise<number[]> => {
        const before = await used()
        await work()
        return [((await used()) - before) / KEYS]
      }
      const hold = (): Promise<unknown> => Promise.all(keys.map((key) => locks.acquire(key)))
      const bytes = await added(hold)
      await locks.close()
      const taken: [key: string, owner: string][] = []
      const rawBytes = await added(async () => {
        for (const key of keys) taken.push([key, await take(client, `${prefix}:${key}`)])
      })
      for (const [key, owner] of taken) await giveBack(client, `${prefix}:${key}`, owner)
      return { bytes, rawBytes }
    })
    await client.quit()
    return samples
  })
}
