import { open } from '../mongo/contenders.ts'
import { prove } from '../opened.ts'
import type { MongoContender } from '../mongo/figures.ts'
import { withDatabase } from '../mongo/server.ts'
import { sections } from '../sections.ts'
import type { Samples } from '../throughput.ts'

/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 400

export function oneKey(contender: MongoContender): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    await prove(opened)
    const samples = await sections(opened, contender.kind === 'holdfast' ? SECTIONS : SECTIONS_OF_PEERS)
    await opened.close()
    return samples
  })
}
