import type { Opened } from './opened.ts'
import { type Samples, throughput } from './throughput.ts'

const TASKS = 50
const TURN = Promise.resolve()

/** Tasks of one process on one key. The section yields once, so that two could be inside if the lock were none. */
export function sections(opened: Opened, count: number): Promise<Samples> {
  let inside = 0
  return throughput(TASKS, count, async () => {
    const unlock = await opened.lock('one key')
    inside += 1
    await TURN
    if (inside !== 1) throw new Error('two were inside')
    inside -= 1
    await unlock()
  })
}
