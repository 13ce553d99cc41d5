import { Crew, serve } from './crew.ts'
import type { Figure } from './figures.ts'
import { closeAndExit, type Opened } from './opened.ts'
import { clock, refuseOverlap, type Stay } from './stay.ts'
import type { Samples } from './throughput.ts'

const PROCESSES = 4
const TASKS = 10
const WARM_UP_MS = 1_000
const MEASURED_MS = 3_000
/** Of each process, so many are compared with those of the others. */
const COMPARED = 20_000

export const RACE: readonly Figure[] = [
  { name: 'perSecond', unit: 'sections/s' },
  { name: 'leastShare', unit: '% of them in the process that had fewest' },
]

/** One of the processes that compete for one key: ten tasks, each in again and again. */
export function competeForOneKey(opened: Opened): void {
  const turn = Promise.resolve()
  let inside = 0
  let sections = 0

  async function task(until: number, stays: Stay[] | undefined): Promise<void> {
    while (performance.now() < until) {
      const unlock = await opened.lock('one key')
      const from = stays ? clock() : 0
      inside += 1
      await turn
      if (inside !== 1) throw new Error('two were inside')
      inside -= 1
      sections += 1
      if (stays && stays.length < COMPARED) stays.push({ from, to: clock() })
      await unlock()
    }
  }

  async function run(forMs: number, stays?: Stay[]): Promise<number> {
    sections = 0
    const until = performance.now() + forMs
    await Promise.all(Array.from({ length: TASKS }, () => task(until, stays)))
    return sections
  }

  async function warmUp(): Promise<Stay[]> {
    const stays: Stay[] = []
    await run(WARM_UP_MS, stays)
    return stays
  }

  serve({ 'warm up': warmUp, measure: () => run(MEASURED_MS) }, () => closeAndExit(opened))
}

/**
 * Processes that compete for one key; `file` is their program. The share of the least lucky would be 25 % if all were
 * alike.
 */
export async function raceForOneKey(file: URL, args: readonly string[]): Promise<Samples> {
  const crew = await Crew.gather(PROCESSES, file, args)
  refuseOverlap((await crew.tell<Stay[]>('warm up')).flat())
  const start = performance.now()
  const sections = await crew.tell<number>('measure')
  const wallMs = performance.now() - start
  await crew.dismiss()
  const all = sections.reduce((sum, each) => sum + each, 0)
  return { perSecond: [(all / wallMs) * 1000], leastShare: [(Math.min(...sections) / all) * 100] }
}
