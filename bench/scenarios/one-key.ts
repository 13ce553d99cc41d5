import { Mutex } from 'async-mutex'
import { holdfast } from '../built.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 50
const SECTIONS = 400_000

const TURN = Promise.resolve()
let inside = 0

/** The same for each contender. It yields once, so that two could be inside if the lock were none. */
async function section(): Promise<void> {
  inside += 1
  await TURN
  if (inside !== 1) throw new Error('two were inside')
  inside -= 1
}

export async function viaHoldfast(): Promise<Samples> {
  const locks = holdfast.createLocks(holdfast.memoryStore())
  const samples = await throughput(TASKS, SECTIONS, () => locks.using('one key', section))
  await locks.close()
  return samples
}

export function viaAsyncMutex(): Promise<Samples> {
  const mutex = new Mutex()
  return throughput(TASKS, SECTIONS, () => mutex.runExclusive(section))
}
