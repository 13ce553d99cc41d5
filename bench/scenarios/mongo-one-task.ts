import { MongoClient } from 'mongodb'
import { holdfast, importMongo } from '../built.ts'
import { between, commandCounts, perThousand } from '../mongo/command-counts.ts'
import { giveBack, type PlainLock, take } from '../mongo/plain.ts'
import { onServer, withDatabase } from '../mongo/server.ts'
import { percentile } from '../percentile.ts'
import type { Samples } from '../throughput.ts'

const BLOCKS = 30
const PAIRS = 20
/** Blocks that do not count. */
const WARM_UP = 10
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
    const pairs: number[] = []
    const rawPairs: number[] = []
    for (let block = -WARM_UP; block < BLOCKS; block += 1) {
      const [own, raw] = [await timesOf(viaHoldfast, PAIRS), await timesOf(viaRaw, PAIRS)]
      if (block < 0) continue
      pairs.push(...own)
      rawPairs.push(...raw)
    }
    const before = await onServer(url, commandCounts)
    await timesOf(viaHoldfast, COUNTED)
    const counts = between(before, await onServer(url, commandCounts))
    await locks.close()
    await client.close()
    const [pairMs, rawMs] = [percentile(pairs, 50), percentile(rawPairs, 50)]
    return { pairMs: [pairMs], rawMs: [rawMs], timesRaw: [pairMs / rawMs], ...perThousand(counts, COUNTED) }
  })
}

/** In ms. */
async function timesOf(pair: (key: string) => Promise<void>, count: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i += 1) {
    const start = performance.now()
    await pair(`key ${i}`)
    times.push(performance.now() - start)
  }
  return times
}
