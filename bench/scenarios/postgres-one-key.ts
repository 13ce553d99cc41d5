import type { Contender } from '../figures.ts'
import { open } from '../postgres/contenders.ts'
import { Crew } from '../crew.ts'
import { withDatabase } from '../postgres/database.ts'
import type { Samples } from '../throughput.ts'

const PROCESSES = 4
const FILE = new URL('../postgres/one-key-process.ts', import.meta.url)

/** Processes that compete for one key. The share of the least lucky would be 25 % if all were alike. */
export function oneKey(contender: Contender): Promise<Samples> {
  return withDatabase(async (url) => {
    // Peers create their table on first use, and fail if another process does so at the same time.
    const first = await open(contender, url)
    await (
      await first.lock('first')
    )()
    await first.close()
    const crew = await Crew.gather(PROCESSES, FILE, [url, JSON.stringify(contender)])
    await crew.tell('warm up')
    const start = performance.now()
    const sections = await crew.tell<number>('measure')
    const wallMs = performance.now() - start
    await crew.dismiss()
    const all = sections.reduce((sum, each) => sum + each, 0)
    return { perSecond: [(all / wallMs) * 1000], leastShare: [(Math.min(...sections) / all) * 100] }
  })
}
