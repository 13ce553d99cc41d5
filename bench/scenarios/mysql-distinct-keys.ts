import { open } from '../mariadb/contenders.ts'
import type { MariadbContender } from '../mariadb/figures.ts'
import { withDatabase } from '../mariadb/server.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
/** Enough for a few seconds each. */
const PAIRS = 40_000
const PAIRS_OF_PEERS = 6_000
/** All are known when the warm-up is over. */
const KEYS = 10_000

/** Each key is new: what is kept of it counts too. */
export function newKeys(contender: MariadbContender): Promise<Samples> {
  return distinctKeys(contender, (i) => `order:${i}`)
}

export function knownKeys(contender: MariadbContender): Promise<Samples> {
  return distinctKeys(contender, (i) => `key ${i % KEYS}`)
}

function distinctKeys(contender: MariadbContender, keyOf: (i: number) => string): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    const pairs = contender.kind === 'holdfast' ? PAIRS : PAIRS_OF_PEERS
    const samples = await throughput(TASKS, pairs, async (i) => {
      const unlock = await opened.lock(keyOf(i))
      await unlock()
    })
    await opened.close()
    return samples
  })
}
