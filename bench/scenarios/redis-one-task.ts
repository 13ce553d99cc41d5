import { Redis } from 'ioredis'
import { holdfast, importRedis } from '../built.ts'
import { giveBack, prepare, take } from '../redis/raw.ts'
import { percentile } from '../percentile.ts'
import { withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const BLOCKS = 50
const PAIRS = 100
/** Blocks that do not count. */
const WARM_UP = 20

/**
 * One task that nobody disturbs, in turns with two commands on the same connection: a block of pairs each, since the
 * first pair after a change is slower, and would be so for the raw commands only.
 */
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
    const pairs: number[] = []
    const roundTrips: number[] = []
    for (let block = -WARM_UP; block < BLOCKS; block += 1) {
      const [own, raw] = [await timesOf(viaHoldfast), await timesOf(viaRaw)]
      if (block < 0) continue
      pairs.push(...own)
      roundTrips.push(...raw)
    }
    await locks.close()
    await client.quit()
    const [pairUs, rawUs] = [percentile(pairs, 50), percentile(roundTrips, 50)]
    return { pairUs: [pairUs], rawUs: [rawUs], timesRaw: [pairUs / rawUs] }
  })
}

/** Of one block, in µs. */
async function timesOf(pair: (key: string) => Promise<void>): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < PAIRS; i += 1) {
    const start = performance.now()
    await pair(`key ${i}`)
    times.push((performance.now() - start) * 1000)
  }
  return times
}
