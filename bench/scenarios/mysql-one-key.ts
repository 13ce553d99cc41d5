import { setTimeout } from 'node:timers/promises'
import { holdfast } from '../built.ts'
import { makePlain, onServer, withDatabase } from '../mariadb/server.ts'
import { sections } from '../sections.ts'
import type { Samples } from '../throughput.ts'

/** Enough for a few seconds each. */
const SECTIONS = 400_000
const SECTIONS_OF_PEERS = 400
const POLL_MS = 10

export function viaHoldfast(): Promise<Samples> {
  return withDatabase(async (url) => {
    const locks = holdfast.createLocks(url, { wait: '2m' })
    const lock = async (key: string): Promise<() => Promise<unknown>> => {
      const lease = await locks.acquire(key)
      return () => lease.release()
    }
    const samples = await sections({ lock, close: () => locks.close() }, SECTIONS)
    await locks.close()
    return samples
  })
}

/** Asks again and again. */
export function viaPlainStatements(): Promise<Samples> {
  return withDatabase((url) =>
    onServer(url, async (pool) => {
      const plain = await makePlain(pool)
      const lock = async (key: string): Promise<() => Promise<unknown>> => {
        for (;;) {
          const owner = await unlessDeadlock(plain.take(key))
          if (owner) return () => plain.giveBack(key, owner)
          await setTimeout(POLL_MS)
        }
      }
      return sections({ lock, close: () => Promise.resolve() }, SECTIONS_OF_PEERS)
    }),
  )
}

/** Many inserts of one key that is being deleted can end so; to ask again is what one does. */
function unlessDeadlock<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ER_LOCK_DEADLOCK') return null
    throw error
  })
}
