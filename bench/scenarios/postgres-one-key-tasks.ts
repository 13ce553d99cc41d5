import type { Contender } from '../figures.ts'
import { open } from '../postgres/contenders.ts'
import { withDatabase } from '../postgres/database.ts'
import { sections } from '../sections.ts'
import type { Samples } from '../throughput.ts'

/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 400

export function oneKey(contender: Contender): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    const samples = await sections(opened, contender.kind === 'holdfast' ? SECTIONS : SECTIONS_OF_PEERS)
    await opened.close()
    return samples
  })
}
