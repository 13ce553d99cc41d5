import type { ListQuery, LockPage, LockRecord, Store } from '../../store.ts'
import type { Houses } from './batches.ts'

/** Which store a page goes on in, before its own place in that store's pages. */
const FROM = '<'
const TO = '>'

/** What either holds, each key once: first what `from` holds, then what `to` alone holds. */
export async function listBoth({ from, to }: Houses, query: ListQuery): Promise<LockPage> {
  if (query.key !== undefined) {
    const lock = joined(await recordIn(from, query.key), await recordIn(to, query.key))
    return { locks: lock ? [lock] : [], next: null }
  }
  const { after = FROM, ...rest } = query
  const place = after.slice(1)
  const at = place === '' ? {} : { after: place }
  let shown: readonly LockRecord[] = []
  if (after.startsWith(FROM)) {
    const page = await from.list({ ...rest, ...at })
    if (page.next !== null) return { locks: page.locks, next: FROM + page.next }
    if (page.locks.length >= query.limit) return { locks: page.locks, next: TO }
    shown = page.locks
  }
  const limit = query.limit - shown.length
  const page = await to.list({ ...rest, limit, ...(after.startsWith(TO) ? at : {}) })
  const alone = await Promise.all(
    page.locks.map(async (lock) => ((await recordIn(from, lock.key)) === null ? [lock] : [])),
  )
  return { locks: [...shown, ...alone.flat()], next: page.next === null ? null : TO + page.next }
}

export async function recordIn(store: Store, key: string): Promise<LockRecord | null> {
  return (await store.list({ key, limit: 1 })).locks[0] ?? null
}

/** A lock in both is wanted if either is, and in force for as long as both are. */
export function joined(from: LockRecord | null, to: LockRecord | null): LockRecord | null {
  if (!from || !to) return from ?? to
  return {
    ...from,
    remainingMs: Math.min(from.remainingMs, to.remainingMs),
    wanted: from.wanted || to.wanted,
  }
}
