/** One curve of one store, in a process of its own; `index.ts` starts it and hears the points. */
import { randomInt } from 'node:crypto'
import type { Locks, Store } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { Crew } from '../crew.ts'
import { collectGarbage } from '../heap.ts'
import { type Kind, storeAt } from '../store-at.ts'
import type { Point } from './curve.ts'

const WARM_UP_MS = 400
const MEASURED_MS = 1_200
/** Tasks where something else is counted. */
const TASKS = 100
const FILL = 1_000
const FILLS_AT_ONCE = 4
/** Keys beside those that are held. */
const OTHERS = 1_000
const HELD_MS = 3_600_000
/** Over at once; the record stays. */
const OVER_MS = 1
const KEPT: readonly Kind[] = ['postgres', 'mongo', 'mariadb']
const TURN = Promise.resolve()

const [name, kind, url, ...rest] = process.argv.slice(2) as [string, Kind, string, ...string[]]
const xs = rest.map(Number)

const MEASURES: Record<string, () => Promise<Point[]>> = {
  tasks,
  waiters,
  processes: withProcesses,
  turns: withProcesses,
  keys,
}
// A connection of the store's own keeps no process alive; the client does, while it waits for an answer.
setInterval(() => {}, 60_000)
const points = await MEASURES[name]?.()
process.send?.(points, () => process.exit())

async function withLocks(work: (locks: Locks) => Promise<Point[]>): Promise<Point[]> {
  const locks = holdfast.createLocks(await storeAt(kind, url), { wait: '2m', callTimeout: '30s' })
  try {
    return await work(locks)
  } finally {
    await locks.close()
  }
}

function tasks(): Promise<Point[]> {
  let next = 0
  return withLocks((locks) => each(xs, (x) => perLock(x, () => pair(locks, `task:${next++}`))))
}

/** All of them come at once, again and again. */
function waiters(): Promise<Point[]> {
  return withLocks((locks) =>
    each(xs, (x) =>
      perLock(1, async () => {
        await Promise.all(Array.from({ length: x }, () => locks.using('one key', () => TURN)))
        return x
      }),
    ),
  )
}

/** The crew grows from point to point. */
async function withProcesses(): Promise<Point[]> {
  const crews: Crew[] = []
  let size = 0
  try {
    return await each(xs, async (x) => {
      const joined = await Crew.gather(x - size, new URL('./process.ts', import.meta.url), [kind, url])
      crews.push(joined)
      size = x
      await joined.tell('warm up')
      const rates = await Promise.all(crews.map((crew) => crew.tell<number>(name)))
      return 1e6 / rates.flat().reduce((sum, rate) => sum + rate, 0)
    })
  } finally {
    await Promise.all(crews.map((crew) => crew.dismiss()))
  }
}

async function keys(): Promise<Point[]> {
  const kept = KEPT.includes(kind)
  const store = await storeAt(kind, url)
  await store.open()
  let known = 0
  // The client closes the store.
  const locks = holdfast.createLocks(store, { wait: '2m', callTimeout: '30s' })
  try {
    return await each(xs, async (x) => {
      for (; known < x; known += FILL * FILLS_AT_ONCE)
        await Promise.all(
          Array.from({ length: FILLS_AT_ONCE }, (_, i) =>
            fill(store, known + i * FILL, Math.min(x, known + (i + 1) * FILL), kept),
          ),
        )
      return perLock(TASKS, () => pair(locks, kept ? `known:${randomInt(x)}` : `other:${randomInt(OTHERS)}`))
    })
  } finally {
    await locks.close()
  }
}

async function fill(store: Store, from: number, to: number, kept: boolean): Promise<void> {
  const holder = { service: 'bench', instance: 'fill', context: null }
  const leaseMs = kept ? OVER_MS : HELD_MS
  const asks = Array.from({ length: Math.max(0, to - from) }, (_, i) => ({
    key: `known:${from + i}`,
    owner: 'bench',
    leaseMs,
    holder,
  }))
  if (asks.length > 0) await store.acquire(asks)
}

async function pair(locks: Locks, key: string): Promise<number> {
  await (await locks.acquire(key)).release()
  return 1
}

/** `one` resolves to how many locks it was. The time for each, done by `loops` side by side. */
async function perLock(loops: number, one: () => Promise<number>): Promise<number> {
  const run = async (forMs: number): Promise<number> => {
    let locks = 0
    const start = performance.now()
    const loop = async (): Promise<void> => {
      do {
        const added = await one()
        locks += added
      } while (performance.now() - start < forMs)
    }
    await Promise.all(Array.from({ length: loops }, loop))
    return ((performance.now() - start) * 1000) / locks
  }
  await run(WARM_UP_MS)
  collectGarbage()
  return run(MEASURED_MS)
}

async function each(all: readonly number[], us: (x: number) => Promise<number>): Promise<Point[]> {
  const found: Point[] = []
  for (const x of all) found.push({ x, us: await us(x) })
  return found
}
