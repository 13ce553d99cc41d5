import { serve } from './crew.ts'
import { closeAndExit, type Opened } from './opened.ts'
import { clock, type Stay } from './stay.ts'

const TASKS = 10
const WARM_UP_MS = 1_000
const MEASURED_MS = 3_000
/** Of each process, so many are compared with those of the others. */
const COMPARED = 20_000

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
