import { Mutex } from 'async-mutex'
import { holdfast } from '../built.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
const PAIRS = 400_000

export async function onMemory(): Promise<Samples> {
  const locks = holdfast.createLocks(holdfast.memoryStore())
  const samples = await throughput(TASKS, PAIRS, async (i) => {
    const lease = await locks.acquire(`key ${i}`)
    await lease.release()
  })
  await locks.close()
  return samples
}

/** As one does it by hand: a mutex per key, made on demand and dropped when nobody uses it. */
export function viaAsyncMutex(): Promise<Samples> {
  const mutexes = new Map<string, Mutex>()
  return throughput(TASKS, PAIRS, async (i) => {
    const key = `key ${i}`
    let mutex = mutexes.get(key)
    if (!mutex) mutexes.set(key, (mutex = new Mutex()))
    const release = await mutex.acquire()
    release()
    if (!mutex.isLocked()) mutexes.delete(key)
  })
}
