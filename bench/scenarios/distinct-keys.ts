import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Mutex } from 'async-mutex'
import type { Locks } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100

export async function onMemory(): Promise<Samples> {
  return measure(holdfast.createLocks(holdfast.memoryStore()), 400_000)
}

export async function onSqlite(): Promise<Samples> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  try {
    return await measure(holdfast.createLocks(`sqlite:${join(folder, 'locks.db')}`), 100_000)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(locks: Locks, pairs: number): Promise<Samples> {
  const samples = await throughput(TASKS, pairs, async (i) => {
    const lease = await locks.acquire(`key ${i}`)
    await lease.release()
  })
  await locks.close()
  return samples
}

/** As one does it by hand: a mutex per key, made on demand and dropped when nobody uses it. */
export function viaAsyncMutex(): Promise<Samples> {
  const mutexes = new Map<string, Mutex>()
  return throughput(TASKS, 400_000, async (i) => {
    const key = `key ${i}`
    let mutex = mutexes.get(key)
    if (!mutex) mutexes.set(key, (mutex = new Mutex()))
    const release = await mutex.acquire()
    release()
    if (!mutex.isLocked()) mutexes.delete(key)
  })
}
