import { Redis } from 'ioredis'
import type { Locks } from '../../src/index.ts'
import { holdfast, importRedis } from '../built.ts'
import { percentile } from '../percentile.ts'
import { withDatabase } from '../postgres/database.ts'
import { withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const KEYS = 10
const BLOCKS = 40
const PAIRS = 50
/** Blocks that do not count. */
const WARM_UP = 10

export function onRedis(): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const client = new Redis(url)
    const { redisStore } = await importRedis()
    const samples = await tenAgainstOne(holdfast.createLocks(redisStore(client, { prefix })))
    await client.quit()
    return samples
  })
}

export function onPostgres(): Promise<Samples> {
  return withDatabase((url) => tenAgainstOne(holdfast.createLocks(url)))
}

/** One task that nobody disturbs takes and gives back ten keys, in turns with one that takes one; a block each. */
async function tenAgainstOne(locks: Locks): Promise<Samples> {
  const ten: number[] = []
  const one: number[] = []
  for (let block = -WARM_UP; block < BLOCKS; block += 1) {
    const [tens, ones] = [
      await timesOf(locks, (i) => Array.from({ length: KEYS }, (_, n) => `ten ${i} ${n}`)),
      await timesOf(locks, (i) => [`one ${i}`]),
    ]
    if (block < 0) continue
    ten.push(...tens)
    one.push(...ones)
  }
  await locks.close()
  const [tenUs, oneUs] = [percentile(ten, 50), percentile(one, 50)]
  return { tenUs: [tenUs], oneUs: [oneUs], timesOne: [tenUs / oneUs] }
}

/** Of one block, in µs. */
async function timesOf(locks: Locks, keysOf: (i: number) => string[]): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < PAIRS; i += 1) {
    const keys = keysOf(i)
    const start = performance.now()
    const lease = await locks.acquire(keys)
    await lease.release()
    times.push((performance.now() - start) * 1000)
  }
  return times
}
