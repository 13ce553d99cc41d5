import { Redis } from 'ioredis'
import { inBlocks } from '../blocks.ts'
import { holdfast, importRedis } from '../built.ts'
import { giveBack, prepare, take } from '../redis/raw.ts'
import { withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

/** One task that nobody disturbs, in turns with two commands on the same connection: a block of pairs each. */
export function oneTask(): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const client = new Redis(url)
    const { redisStore } = await importRedis()
    const locks = holdfast.createLocks(redisStore(client, { prefix }))
    await prepare(client)
    const viaHoldfast = async (key: string): Promise<void> => {
      const lease = await locks.acquire(key)
      await lease.release()
    }
    const viaRaw = async (key: string): Promise<void> => {
      const owner = await take(client, `${prefix}:${key}`)
      await giveBack(client, `${prefix}:${key}`, owner)
    }
    const [pairMs, rawMs] = await inBlocks(viaHoldfast, viaRaw, { blocks: 50, pairs: 100, warmUp: 20 })
    await locks.close()
    await client.quit()
    return { pairUs: [pairMs * 1000], rawUs: [rawMs * 1000], timesRaw: [pairMs / rawMs] }
  })
}
