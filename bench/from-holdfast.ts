import type { Store } from '../src/index.ts'
import { holdfast } from './built.ts'
import type { Opened } from './opened.ts'

/** Locks at a URL or in a store, with a wait that is long enough for whoever is unlucky. */
export function fromHoldfast(store: string | Store): Opened {
  const locks = holdfast.createLocks(store, { wait: '2m' })
  return {
    async lock(key) {
      const lease = await locks.acquire(key)
      return () => lease.release()
    },
    close: () => locks.close(),
  }
}
