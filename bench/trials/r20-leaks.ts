import { setTimeout as sleep } from 'node:timers/promises'
import { settledHeap } from '../heap.ts'
import { median, number } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const KEYS = 20_000
const TASKS = 20

/** What is left in the process, and on the server, by `count` keys that are taken and released once. */
export const leaks: Trial = {
  id: 'R20',
  title: 'What 20,000 keys leave in the process',
  done: '5,000 keys to warm up, then 20,000 others, each taken and released once by one of 20 tasks. Growth of the heap after forced collections, timers that keep the process alive, and listeners on the process.',
  wish: 'Nothing that grows with the number of keys.',
  contenders: [...ON_REDIS],
  runs: 1,
  limitMs: 120_000,
  lanes: 2,
  async play({ open, key }) {
    const library = await open()
    const run = async (from: number, to: number): Promise<void> => {
      let next = from
      const task = async (): Promise<void> => {
        while (next < to) {
          const taken = await library.take(`${key}-${(next += 1)}`, { leaseMs: 30_000 })
          await taken.release()
        }
      }
      await Promise.all(Array.from({ length: TASKS }, task))
    }
    await run(0, 5_000)
    await sleep(200)
    const before = { heap: await settledHeap(), timers: timers(), listeners: listeners() }
    await run(5_000, 5_000 + KEYS)
    await sleep(200)
    return {
      bytes: ((await settledHeap()) - before.heap) / KEYS,
      timers: timers() - before.timers,
      listeners: listeners() - before.listeners,
    }
  },
  tell(plays) {
    const bytes = Math.max(0, median(plays, 'bytes') ?? 0)
    const [left = 0, heard = 0] = ['timers', 'listeners'].map((name) => Math.max(0, median(plays, name) ?? 0))
    return `${number(bytes)} bytes a key, ${number(left)} timers, ${number(heard)} listeners`
  },
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

function listeners(): number {
  return process.eventNames().reduce((sum, event) => sum + process.listenerCount(event), 0)
}
