import { getEventListeners } from 'node:events'
import type { Environment, Timer } from '../../src/environment.ts'
import type { Locks } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { settledHeap } from '../heap.ts'
import type { Samples } from '../throughput.ts'

const KEYS = 1_000_000
/** Until here code is compiled and tables find their size. */
const WARM_UP = 200_000

/** Each key is new, taken once and given back; then nothing may tell that it was ever there. */
export async function oneAfterTheOther(): Promise<Samples> {
  const timers = new Set<Timer>()
  const locks = holdfast.createLocks(holdfast.memoryStore(), { environment: counting(timers) })
  const { signal } = new AbortController()
  const count = async (): Promise<Leftovers> => ({
    heap: await settledHeap(),
    timers: timers.size,
    listeners: getEventListeners(signal, 'abort').length + listenersOfProcess(),
  })
  await lockEach(locks, signal, 0, WARM_UP)
  const before = await count()
  const start = performance.now()
  await lockEach(locks, signal, WARM_UP, WARM_UP + KEYS)
  const wallMs = performance.now() - start
  const after = await count()
  await locks.close()
  return {
    heapKiB: [(after.heap - before.heap) / 1024],
    timers: [after.timers - before.timers],
    listeners: [after.listeners - before.listeners],
    perSecond: [(KEYS / wallMs) * 1000],
  }
}

async function lockEach(locks: Locks, signal: AbortSignal, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i += 1) {
    const lease = await locks.acquire(`key ${i}`, { signal })
    await lease.release()
  }
}

interface Leftovers {
  readonly heap: number
  readonly timers: number
  readonly listeners: number
}

function listenersOfProcess(): number {
  return process.eventNames().reduce((sum, event) => sum + process.listenerCount(event), 0)
}

/** Node does not tell how many background timers there are. */
function counting(timers: Set<Timer>): Environment {
  const system = holdfast.systemEnvironment
  return {
    ...system,
    setTimer(delayMs, run, background) {
      const fired = (): void => {
        timers.delete(timer)
        run()
      }
      const timer = system.setTimer(delayMs, fired, background)
      timers.add(timer)
      return timer
    },
    clearTimer(timer) {
      timers.delete(timer)
      system.clearTimer(timer)
    },
  }
}
