import { createLocks, type Locks } from '../../../src/locks.ts'
import { instrument } from '../../../src/otel/index.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { expect } from 'vitest'
import { Sdk } from './otel.ts'

/** A client that has done some of everything, with numbers in each instrument. */
export async function busy(): Promise<{ sdk: Sdk; locks: Locks }> {
  const sdk = new Sdk()
  const inner = memoryStore()
  const store = Object.assign(inner, { pool: () => ({ open: 5, idle: 2, waiting: 1 }) })
  const locks = createLocks(store, { service: 'orders', logger: null })
  instrument(locks, sdk)
  const other = createLocks(inner, { service: 'stock', logger: null })
  await other.acquire('theirs')
  await locks.using('a', async () => {
    await locks.using('a', async () => {})
    expect(await locks.tryAcquire('theirs')).toBeNull()
  })
  await Promise.all([1, 2, 3].map(() => locks.using('b', async () => {})))
  const extended = await locks.acquire('c')
  await extended.extend()
  await locks.acquire('d')
  await locks.forceRelease('d')
  const aborted = locks.acquire('theirs', { signal: AbortSignal.abort() })
  await expect(aborted).rejects.toMatchObject({ code: 'LOCK_ABORTED' })
  await locks.list()
  return { sdk, locks }
}
