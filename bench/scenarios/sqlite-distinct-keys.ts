import { open } from '../sqlite/contenders.ts'
import type { SqliteContender } from '../sqlite/figures.ts'
import { withFile } from '../sqlite/file.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
const PAIRS = 100_000
/** Enough for a few seconds. */
const PAIRS_OF_PEERS = 40_000

export function distinctKeys(contender: SqliteContender): Promise<Samples> {
  return withFile(async (file) => {
    const opened = await open(contender, file)
    const pairs = contender.kind === 'holdfast' ? PAIRS : PAIRS_OF_PEERS
    const samples = await throughput(TASKS, pairs, async (i) => {
      const unlock = await opened.lock(`key ${i}`)
      await unlock()
    })
    await opened.close()
    return samples
  })
}
