import type { Locks } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { settledHeap } from '../heap.ts'
import type { Samples } from '../throughput.ts'

const COUNT = 10_000
/** One for all: functions of the caller do not count. */
const nothing = (): void => {}

/** Tasks that wait inside `using` for one key, in one process. */
export async function waitingForOneKey(): Promise<Samples> {
  const locks = holdfast.createLocks(holdfast.memoryStore(), { wait: '10m' })
  return perWaiter(locks, await locks.acquire('key'), () => 'key')
}

/** Tasks that wait for a key each, held by another process. */
export async function waitingForManyKeys(): Promise<Samples> {
  const store = holdfast.memoryStore()
  const other = holdfast.createLocks(store)
  const locks = holdfast.createLocks(store, { wait: '10m' })
  const keys = Array.from({ length: 2 * COUNT }, (_, i) => `key ${i}`)
  await Promise.all(keys.map((key) => other.acquire(key)))
  const samples = await perWaiter(locks, null, (i) => keys[i] as string)
  await other.close()
  return samples
}

async function perWaiter(
  locks: Locks,
  held: { release(): Promise<boolean> } | null,
  keyOf: (i: number) => string,
): Promise<Samples> {
  const tasks: Promise<void>[] = []
  const enter = (i: number): void => {
    const task = locks.using(keyOf(i), nothing)
    // Those that are turned away when the client closes.
    task.catch(nothing)
    tasks.push(task)
  }
  const bytes = await heapPer(enter)
  if (locks.stats().waiting !== tasks.length) throw new Error('not all of the tasks wait')
  await held?.release()
  await locks.close()
  return { bytes }
}

/** Leases on keys of their own, with what the memory store keeps for each. */
export async function heldLeases(): Promise<Samples> {
  const locks = holdfast.createLocks(holdfast.memoryStore())
  const leases: Promise<unknown>[] = []
  const bytes = await heapPer((i) => void leases.push(locks.acquire(`key ${i}`)))
  if (locks.stats().held !== leases.length) throw new Error('not all of the leases are held')
  await locks.close()
  return { bytes }
}

async function heapPer(add: (i: number) => void): Promise<number[]> {
  // As many again first: code is compiled and tables have their size.
  for (let i = 0; i < COUNT; i += 1) add(i)
  const before = await settledHeap()
  for (let i = COUNT; i < 2 * COUNT; i += 1) add(i)
  return [((await settledHeap()) - before) / COUNT]
}
