import { open, prove } from '../mongo/contenders.ts'
import type { MongoContender } from '../mongo/figures.ts'
import { withDatabase } from '../mongo/server.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 50
/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 400

const TURN = Promise.resolve()

/** The section yields once, so that two could be inside if the lock were none. */
export function oneKey(contender: MongoContender): Promise<Samples> {
  return withDatabase(async (url) => {
    const opened = await open(contender, url)
    await prove(opened)
    const sections = contender.kind === 'holdfast' ? SECTIONS : SECTIONS_OF_PEERS
    let inside = 0
    const samples = await throughput(TASKS, sections, async () => {
      const unlock = await opened.lock('one key')
      inside += 1
      await TURN
      if (inside !== 1) throw new Error('two were inside')
      inside -= 1
      await unlock()
    })
    await opened.close()
    return samples
  })
}
