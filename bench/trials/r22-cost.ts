import { percentile } from '../percentile.ts'
import { median, number } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const PAIRS = 2_000
const HELD = 2_000

export const cost: Trial = {
  id: 'R22',
  title: 'What one lock costs when nobody is in the way',
  done: 'One task takes and releases a free key 2,000 times, one after the other, after 500 to warm up: the median of a pair. The first lock of a new process, from the import of the package to the grant. Bytes on the server for each of 2,000 held keys.',
  wish: 'As little as by hand.',
  contenders: ['raw', ...ON_REDIS],
  runs: 3,
  limitMs: 60_000,
  lanes: 1,
  async play({ open, key, stage }) {
    const start = performance.now()
    const library = await open()
    const first = await library.take(`${key}-first`, { leaseMs: 30_000 })
    const firstMs = performance.now() - start
    await first.release()
    const pairs: number[] = []
    for (let i = 0; i < 500 + PAIRS; i += 1) {
      const from = performance.now()
      const taken = await library.take(key, { leaseMs: 30_000 })
      await taken.release()
      if (i >= 500) pairs.push(performance.now() - from)
    }
    const before = await stage.memory()
    await Promise.all(
      Array.from({ length: HELD }, (_, i) => library.take(`${key}-${i}`, { leaseMs: 30_000 })),
    )
    const bytes = ((await stage.memory()) - before) / HELD
    return { pairUs: percentile(pairs, 50) * 1000, firstMs, bytes }
  },
  tell(plays) {
    const [pair, first, bytes] = ['pairUs', 'firstMs', 'bytes'].map((name) =>
      number(median(plays, name) ?? NaN),
    )
    return `${pair} µs a pair; first lock after ${first} ms; ${bytes} bytes a key`
  },
}
