import { settledHeap } from '../heap.ts'
import { median, number } from './facts.ts'
import type { Trial } from './trial.ts'

const MARKS = [10_000, 100_000, 1_000_000]
const TASKS = 200

export const millionKeys: Trial = {
  id: 'R21',
  title: 'A million keys',
  done: 'A million different keys are taken and released by 200 tasks; keys on the Redis server after 10,000, 100,000 and all of them, and how much the heap of the process has grown between the last two.',
  wish: 'The same number each time.',
  contenders: ['holdfast'],
  absent: 'holdfast alone, because it keeps something: its fences. What the others keep is in R13 and R20.',
  runs: 1,
  limitMs: 240_000,
  lanes: 1,
  async play({ open, key, stage }) {
    const library = await open()
    const facts: Record<string, number> = {}
    let next = 0
    let heap = 0
    for (const mark of MARKS) {
      const task = async (): Promise<void> => {
        while (next < mark) {
          const taken = await library.take(`${key}-${(next += 1)}`, { leaseMs: 30_000 })
          await taken.release()
        }
      }
      await Promise.all(Array.from({ length: TASKS }, task))
      facts[`at${mark}`] = (await stage.left()).count
      const now = await settledHeap()
      facts['grownKiB'] = (now - heap) / 1024
      heap = now
    }
    return facts
  },
  tell(plays) {
    const counts = MARKS.map((mark) => number(median(plays, `at${mark}`) ?? NaN))
    return `${counts.join(', ')} keys on the server; heap ${number(Math.max(0, median(plays, 'grownKiB') ?? NaN))} KiB larger`
  },
}
