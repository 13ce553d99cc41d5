import { LockError } from '../../errors.ts'
import type { LockRecord } from '../../store.ts'

/** To look who has a key and take it from that one: more are needed only if another number is in force each time. */
const TRIES = 5

export interface Eviction {
  /** The name of the store, for messages. */
  readonly store: string
  readonly key: string
  /** Who has the key now. */
  readonly find: () => Promise<LockRecord | undefined>
  /** Takes it from whom has it under this number, and from nobody else. */
  readonly evict: (grant: number) => Promise<LockRecord | null>
}

/**
 * An eviction without a number, by that of who has the key when this begins. A client or network may deliver a command
 * late, or twice: without a number it would take the key from whoever has it then.
 */
export async function evictHolder({ store, key, find, evict }: Eviction): Promise<LockRecord | null> {
  let found = await find()
  const since = found?.since
  for (let tries = 0; found && tries < TRIES; tries += 1) {
    const evicted = await evict(found.grant)
    if (evicted) return evicted
    // Whose number was raised meanwhile still has it; whoever got it later keeps it.
    const left = await find()
    found = left?.since === since ? left : undefined
  }
  if (!found) return null
  throw new LockError(
    'STORE_UNAVAILABLE',
    `the ${store} store could not take "${key}" from its holder: its grant number changed each time; try again`,
    { key },
  )
}
