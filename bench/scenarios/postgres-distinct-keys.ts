import type { Contender } from '../figures.ts'
import { open } from '../postgres/contenders.ts'
import { withDatabase } from '../postgres/database.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
/** Enough for a few seconds each, after as many as it takes until all code is compiled: some 60,000. */
const PAIRS = 240_000
const PAIRS_OF_PEERS = 12_000

/** Keys come again after this many, when nobody has them any more. */
const KEYS = 10_000

/** Each key is new: what is kept of it, or deleted, counts too. */
export function newKeys(contender: Contender): Promise<Samples> {
  return measure(contender, (i) => `key ${i}`)
}

export function knownKeys(contender: Contender): Promise<Samples> {
  return measure(contender, (i) => `key ${i % KEYS}`)
}

async function measure(contender: Contender, keyOf: (i: number) => string): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    const batched = contender.kind === 'holdfast' || contender.kind === 'bare'
    const pairs = batched ? PAIRS : PAIRS_OF_PEERS
    const samples = await throughput(TASKS, pairs, async (i) => {
      const unlock = await opened.lock(keyOf(i))
      await unlock()
    })
    await opened.close()
    return samples
  })
}
