import { between, commandCounts, perThousand } from '../mongo/command-counts.ts'
import { open } from '../mongo/contenders.ts'
import { prove } from '../opened.ts'
import type { MongoContender } from '../mongo/figures.ts'
import { onServer, withDatabase } from '../mongo/server.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
/** Enough for a few seconds each. */
const PAIRS = 20_000
const PAIRS_OF_PEERS = 4_000
/** All are known when the warm-up is over. */
const KNOWN = 2_000

/** As for orders: each is locked once in its life. */
export function newKeys(contender: MongoContender): Promise<Samples> {
  return distinctKeys(contender, (i) => `order:${i}`)
}

export function knownKeys(contender: MongoContender): Promise<Samples> {
  return distinctKeys(contender, (i) => `key ${i % KNOWN}`)
}

function distinctKeys(contender: MongoContender, keyOf: (i: number) => string): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    // By hand, nobody waits.
    if (contender.kind !== 'plain') await prove(opened)
    let pairs = 0
    const before = await onServer(url, commandCounts)
    const samples = await throughput(
      TASKS,
      contender.kind === 'holdfast' ? PAIRS : PAIRS_OF_PEERS,
      async (i) => {
        const unlock = await opened.lock(keyOf(i))
        await unlock()
        pairs += 1
      },
    )
    const counts = between(before, await onServer(url, commandCounts))
    await opened.close()
    return { ...samples, ...perThousand(counts, pairs) }
  })
}
