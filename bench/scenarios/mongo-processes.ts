import { Crew } from '../crew.ts'
import type { MongoContender } from '../mongo/figures.ts'
import { withDatabase } from '../mongo/server.ts'
import { refuseOverlap, type Stay } from '../stay.ts'
import type { Samples } from '../throughput.ts'

const PROCESSES = 4
const FILE = new URL('../mongo/one-key-process.ts', import.meta.url)

/** Processes that compete for one key. The share of the least lucky would be 25 % if all were alike. */
export function processes(contender: MongoContender): Promise<Samples> {
  return withDatabase(async (url) => {
    const crew = await Crew.gather(PROCESSES, FILE, [url, JSON.stringify(contender)])
    refuseOverlap((await crew.tell<Stay[]>('warm up')).flat())
    const start = performance.now()
    const sections = await crew.tell<number>('measure')
    const wallMs = performance.now() - start
    await crew.dismiss()
    const all = sections.reduce((sum, each) => sum + each, 0)
    return { perSecond: [(all / wallMs) * 1000], leastShare: [(Math.min(...sections) / all) * 100] }
  })
}
