import { MongoClient } from 'mongodb'
import { inBlocks, timesOf } from '../blocks.ts'
import { holdfast, importMongo } from '../built.ts'
import { between, commandCounts, perThousand } from '../mongo/command-counts.ts'
import { giveBack, type PlainLock, take } from '../mongo/plain.ts'
import { onServer, withDatabase } from '../mongo/server.ts'
import type { Samples } from '../throughput.ts'

const COUNTED = 50

/** One task that nobody disturbs, in turns with two commands on the same client: a block of pairs each. */
export function oneTask(): Promise<Samples> {
  return withDatabase(async (url) => {
    const client = new MongoClient(url)
    const { mongoStore } = await importMongo()
    const locks = holdfast.createLocks(mongoStore(client))
    const plain = client.db().collection<PlainLock>('plain')
    const viaHoldfast = async (key: string): Promise<void> => {
      const lease = await locks.acquire(key)
      await lease.release()
    }
    const viaRaw = async (key: string): Promise<void> => {
      await take(plain, key)
      await giveBack(plain, key)
    }
    const [pairMs, rawMs] = await inBlocks(viaHoldfast, viaRaw, { blocks: 30, pairs: 20, warmUp: 10 })
    const before = await onServer(url, commandCounts)
    await timesOf(viaHoldfast, COUNTED)
    const counts = between(before, await onServer(url, commandCounts))
    await locks.close()
    await client.close()
    return { pairMs: [pairMs], rawMs: [rawMs], timesRaw: [pairMs / rawMs], ...perThousand(counts, COUNTED) }
  })
}
