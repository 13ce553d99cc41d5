import { prove } from '../opened.ts'
import { sections } from '../sections.ts'
import { open } from '../sqlite/contenders.ts'
import type { SqliteContender } from '../sqlite/figures.ts'
import { withFile } from '../sqlite/file.ts'
import type { Samples } from '../throughput.ts'

/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 8_000

export function oneKey(contender: SqliteContender): Promise<Samples> {
  return withFile(async (file) => {
    const opened = await open(contender, file)
    await prove(opened)
    const samples = await sections(opened, contender.kind === 'holdfast' ? SECTIONS : SECTIONS_OF_PEERS)
    await opened.close()
    return samples
  })
}
