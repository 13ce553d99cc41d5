import { LockError } from '../../errors.ts'
import type { ListQuery, LockPage, LockRecord } from '../../store.ts'
import type { RedisClient } from './client.ts'
import type { Names } from './names.ts'

/** How many keys of the server to look at in one go, whosever they are. */
const LOOK_AT = 1000
/** How long a page may take, full or not: among millions of other keys, one could not be filled in core's time. */
const PAGE_MS = 1000

/** Where the next page goes on: at this node, first with these names, then with this cursor. */
interface Bookmark {
  readonly node: string
  readonly cursor: string
  /** Found together with the last of the page before, which had no room for them. */
  readonly rest: readonly string[]
}

/**
 * A page of locks by SCAN: in no order, and a lock that is taken or given back meanwhile may be missing, or on two pages
 * when the server resizes its table. A server with many other keys takes many small calls, none of which holds it up, and
 * gives short pages, even empty ones, before the last.
 *
 * What a cursor gives depends on the size of the table at the time. So a cursor is never asked again for what a page had no
 * room for: the bookmark has it.
 */
export async function listLocks(
  { key, prefix = '', after, limit }: ListQuery,
  client: RedisClient,
  names: Names,
  read: (keys: readonly string[]) => Promise<LockRecord[]>,
): Promise<LockPage> {
  if (key !== undefined) return { locks: key.startsWith(prefix) ? await read([key]) : [], next: null }
  const scanners = await client.scanners()
  const start: Bookmark = { node: scanners[0]?.name ?? '', cursor: '0', rest: [] }
  let place = after === undefined || after === '' ? start : bookmarkOf(after)
  let index = scanners.findIndex(({ name }) => name === place.node)
  // Its slots are elsewhere now: better to see some twice than to miss some.
  if (index < 0) [index, place] = [0, start]
  const locks: LockRecord[] = []
  const shown = new Set<string>()
  const end = performance.now() + PAGE_MS
  // As many as there is room for, lest the bookmark gets long; more when most are not ours.
  let lookAt = Math.min(limit, LOOK_AT)
  while (index < scanners.length) {
    const scanner = scanners[index]
    if (!scanner) break
    const room = limit - locks.length
    let { cursor, rest } = place
    if (rest.length === 0) {
      const found = await scanner.scan(cursor, names.pattern(prefix), lookAt)
      rest = [...new Set(found.names)].filter((name) => !shown.has(name)).toSorted()
      if (rest.length > room && lookAt > room) {
        lookAt = room
        continue
      }
      cursor = found.cursor
      if (rest.length < lookAt / 2) lookAt = Math.min(4 * lookAt, LOOK_AT)
    }
    const seen = rest.slice(0, room)
    for (const name of seen) shown.add(name)
    const keys = seen.flatMap((name) => names.keyIn(name) ?? []).filter((each) => each.startsWith(prefix))
    if (keys.length > 0) locks.push(...(await read(keys)))
    place = { node: place.node, cursor, rest: rest.slice(room) }
    if (place.rest.length === 0 && cursor === '0') {
      index += 1
      place = { node: scanners[index]?.name ?? '', cursor: '0', rest: [] }
    }
    if (locks.length === limit || performance.now() > end) break
  }
  return { locks, next: index < scanners.length ? JSON.stringify(Object.values(place)) : null }
}

function bookmarkOf(text: string): Bookmark {
  try {
    const [node, cursor, rest] = JSON.parse(text) as unknown[]
    const isRest = Array.isArray(rest) && rest.every((name) => typeof name === 'string')
    if (typeof node === 'string' && /^\d+$/.test(String(cursor)) && isRest)
      return { node, cursor: String(cursor), rest }
  } catch {
    // As below.
  }
  throw new LockError('INVALID_OPTION', 'after: give the `next` of the page before, as it is')
}
