import { Redis } from 'ioredis'
import type { Locks } from '../../src/index.ts'
import { holdfast, importRedis } from '../built.ts'
import { overNetwork } from '../network.ts'
import { percentile } from '../percentile.ts'
import { withDatabase } from '../postgres/database.ts'
import { withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const KEYS = 10
const PAIRS = 50
/** Blocks of pairs, and those before them that do not count: until all code is compiled. */
const NEAR = { blocks: 40, warmUp: 100 }
const FAR = { blocks: 10, warmUp: 2 }
/** Each way. On one machine a round trip takes less time than a key; in most networks it takes more than ten. */
const WAY_MS = 1

export function onRedis(): Promise<Samples> {
  return withKeys((url, prefix) =>
    nearAndFar(url, async (place, blocks) => {
      const client = new Redis(place)
      const { redisStore } = await importRedis()
      const figures = await tenAgainstOne(holdfast.createLocks(redisStore(client, { prefix })), blocks)
      await client.quit()
      return figures
    }),
  )
}

export function onPostgres(): Promise<Samples> {
  return withDatabase((url) =>
    nearAndFar(url, (place, blocks) => tenAgainstOne(holdfast.createLocks(place), blocks)),
  )
}

type Blocks = typeof NEAR

interface Figures {
  readonly tenUs: number
  readonly oneUs: number
}

async function nearAndFar(
  url: string,
  measure: (url: string, blocks: Blocks) => Promise<Figures>,
): Promise<Samples> {
  const near = await measure(url, NEAR)
  const far = await overNetwork(url, WAY_MS, (place) => measure(place, FAR))
  return {
    tenUs: [near.tenUs],
    oneUs: [near.oneUs],
    timesOne: [near.tenUs / near.oneUs],
    farTenUs: [far.tenUs],
    farOneUs: [far.oneUs],
    farTimesOne: [far.tenUs / far.oneUs],
  }
}

/** One task that nobody disturbs takes and gives back ten keys, in turns with one that takes one; a block each. */
async function tenAgainstOne(locks: Locks, { blocks, warmUp }: Blocks): Promise<Figures> {
  const ten: number[] = []
  const one: number[] = []
  for (let block = -warmUp; block < blocks; block += 1) {
    const [tens, ones] = [
      await timesOf(locks, (i) => Array.from({ length: KEYS }, (_, n) => `ten ${i} ${n}`)),
      await timesOf(locks, (i) => [`one ${i}`]),
    ]
    if (block < 0) continue
    ten.push(...tens)
    one.push(...ones)
  }
  await locks.close()
  return { tenUs: percentile(ten, 50), oneUs: percentile(one, 50) }
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
