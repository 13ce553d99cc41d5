import { open } from '../redis/contenders.ts'
import { prove } from '../opened.ts'
import type { RedisContender } from '../redis/figures.ts'
import { withKeys } from '../redis/server.ts'
import { sections } from '../sections.ts'
import type { Samples } from '../throughput.ts'

/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 4_000

export function oneKey(contender: RedisContender): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const opened = await open(contender, url, prefix)
    await prove(opened)
    const samples = await sections(opened, contender.kind === 'holdfast' ? SECTIONS : SECTIONS_OF_PEERS)
    await opened.close()
    return samples
  })
}
