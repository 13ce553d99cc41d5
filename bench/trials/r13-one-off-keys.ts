import { all, median, number } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const KEYS = 1_000
const TASKS = 50

export const oneOffKeys: Trial = {
  id: 'R13',
  title: 'What 1,000 locks leave on the server',
  done: '1,000 different keys are taken and released once. Then keys, rows or documents on the server are counted.',
  wish: 'Nothing, or something that does not grow with the number of keys, or that goes by itself.',
  contenders: [
    ...ON_REDIS,
    'holdfast-postgres',
    'verrou-postgres',
    'advisory-lock',
    'holdfast-mongo',
    'mongo-locks',
    'mongo-dlock',
  ],
  absent: 'syncguard, of which this is a known failure, could not be installed.',
  runs: 1,
  limitMs: 180_000,
  async play({ open, key, stage }) {
    const library = await open()
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const before = await stage.left()
    let next = 0
    const task = async (): Promise<void> => {
      while (next < KEYS) {
        const taken = await library.take(`${key}-${(next += 1)}`, { leaseMs: 30_000 })
        await taken.release()
      }
    }
    await Promise.all(Array.from({ length: TASKS }, task))
    const { count, longestMs } = await stage.left()
    return { grown: count - before.count, lasts: longestMs === 0, longestMs }
  },
  tell(plays) {
    const grown = median(plays, 'grown') ?? 0
    if (grown <= 0) return 'nothing'
    if (all(plays, 'lasts')) return `${number(grown)} more than before`
    return `${number(grown)} more than before; the last goes after ${number((median(plays, 'longestMs') ?? 0) / 1000)} s`
  },
}
