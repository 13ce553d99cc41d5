import { Crew } from '../crew.ts'
import type { RedisContender } from '../redis/figures.ts'
import { refuseOverlap, type Stay } from '../stay.ts'
import { withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const PROCESSES = 4
const FILE = new URL('../redis/one-key-process.ts', import.meta.url)

/** Processes that compete for one key. The share of the least lucky would be 25 % if all were alike. */
export function processes(contender: RedisContender): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const crew = await Crew.gather(PROCESSES, FILE, [url, prefix, JSON.stringify(contender)])
    refuseOverlap((await crew.tell<Stay[]>('warm up')).flat())
    const start = performance.now()
    const sections = await crew.tell<number>('measure')
    const wallMs = performance.now() - start
    await crew.dismiss()
    const all = sections.reduce((sum, each) => sum + each, 0)
    return { perSecond: [(all / wallMs) * 1000], leastShare: [(Math.min(...sections) / all) * 100] }
  })
}
