import type { Store } from '../../store.ts'
import { ended, HOLD_UP_MS } from './batches.ts'

/** What is held in one of the stores, under this number, and not in the other. */
export interface Half {
  readonly key: string
  readonly grant: number
}

/**
 * By the number, not by the owner: it may come late, when the same owner has asked again and got both. As well as it
 * goes: what stays ends with its lease.
 */
export async function takeBack(store: Store, halves: readonly Half[]): Promise<void> {
  if (halves.length === 0) return
  const work = halves.map(({ key, grant }) => store.evict(key, grant).catch(() => null))
  await ended(Promise.all(work), HOLD_UP_MS)
}
