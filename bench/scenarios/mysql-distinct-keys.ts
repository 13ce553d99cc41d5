import { holdfast } from '../built.ts'
import { makePlain, onServer, pairOf, withDatabase } from '../mariadb/server.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
/** Enough for a few seconds each. */
const PAIRS = 40_000
const PAIRS_OF_PEERS = 6_000
/** All are known when the warm-up is over. */
const KEYS = 10_000

/** Each key is new: what is kept of it counts too. */
export function newKeys(): Promise<Samples> {
  return viaHoldfast((i) => `order:${i}`)
}

export function knownKeys(): Promise<Samples> {
  return viaHoldfast((i) => `key ${i % KEYS}`)
}

export function plainStatements(): Promise<Samples> {
  return withDatabase((url) =>
    onServer(url, async (pool) => {
      const plain = await makePlain(pool)
      return throughput(TASKS, PAIRS_OF_PEERS, (i) => pairOf(plain, `key ${i}`))
    }),
  )
}

function viaHoldfast(keyOf: (i: number) => string): Promise<Samples> {
  return withDatabase(async (url) => {
    const locks = holdfast.createLocks(url)
    const samples = await throughput(TASKS, PAIRS, async (i) => {
      const lease = await locks.acquire(keyOf(i))
      await lease.release()
    })
    await locks.close()
    return samples
  })
}
