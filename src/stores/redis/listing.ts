import { LockError } from '../../errors.ts'
import type { ListQuery, LockPage, LockRecord } from '../../store.ts'
import type { RedisClient } from './client.ts'
import type { Names } from './names.ts'

/** How many keys of the server to look at in one go, whosever they are. */
const LOOK_AT = 1000
/** How long a page may take, full or not: among millions of other keys, one could not be filled in core's time. */
const PAGE_MS = 1000

/** Where the next page goes on: at this node, with this cursor, after this name of those it gives. */
interface Bookmark {
  readonly node: string
  readonly cursor: string
  readonly after: string
}

/**
 * A page of locks by SCAN: in no order, and a lock that is taken or given back meanwhile may be missing, or on two pages
 * when the server resizes its table. A server with many other keys takes many small calls, none of which holds it up, and
 * gives short pages, even empty ones, before the last.
 */
export async function listLocks(
  { key, prefix = '', after, limit }: ListQuery,
  client: RedisClient,
  names: Names,
  read: (keys: readonly string[]) => Promise<LockRecord[]>,
): Promise<LockPage> {
  if (key !== undefined) return { locks: key.startsWith(prefix) ? await read([key]) : [], next: null }
  const scanners = await client.scanners()
  const start: Bookmark = { node: scanners[0]?.name ?? '', cursor: '0', after: '' }
  let place = after === undefined || after === '' ? start : bookmarkOf(after)
  let index = scanners.findIndex(({ name }) => name === place.node)
  // Its slots are elsewhere now: better to see some twice than to miss some.
  if (index < 0) [index, place] = [0, start]
  const locks: LockRecord[] = []
  const shown = new Set<string>()
  const end = performance.now() + PAGE_MS
  while (index < scanners.length) {
    const scanner = scanners[index]
    if (!scanner) break
    const { cursor, names: found } = await scanner.scan(place.cursor, names.pattern(prefix), LOOK_AT)
    const fresh = [...new Set(found)].filter((name) => name > place.after && !shown.has(name)).toSorted()
    const seen = fresh.slice(0, limit - locks.length)
    for (const name of seen) shown.add(name)
    const keys = seen.flatMap((name) => names.keyIn(name) ?? []).filter((each) => each.startsWith(prefix))
    if (keys.length > 0) locks.push(...(await read(keys)))
    if (seen.length < fresh.length) place = { ...place, after: seen.at(-1) ?? '' }
    else if (cursor !== '0') place = { ...place, cursor, after: '' }
    else {
      index += 1
      place = { node: scanners[index]?.name ?? '', cursor: '0', after: '' }
    }
    if (locks.length === limit || performance.now() > end) break
  }
  return { locks, next: index < scanners.length ? JSON.stringify(Object.values(place)) : null }
}

function bookmarkOf(text: string): Bookmark {
  try {
    const [node, cursor, after] = JSON.parse(text) as unknown[]
    if (typeof node === 'string' && typeof after === 'string' && /^\d+$/.test(String(cursor)))
      return { node, cursor: String(cursor), after }
  } catch {
    // As below.
  }
  throw new LockError('INVALID_OPTION', 'after: give the `next` of the page before, as it is')
}
