import { open } from '../mariadb/contenders.ts'
import type { MariadbContender } from '../mariadb/figures.ts'
import { withDatabase } from '../mariadb/server.ts'
import { prove } from '../opened.ts'
import { sections } from '../sections.ts'
import type { Samples } from '../throughput.ts'

/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 400

export function oneKey(contender: MariadbContender): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    await prove(opened)
    const samples = await sections(opened, contender.kind === 'holdfast' ? SECTIONS : SECTIONS_OF_PEERS)
    await opened.close()
    return samples
  })
}
