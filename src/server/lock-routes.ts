import { checkKey } from '../key.ts'
import type { LockRecord } from '../store.ts'
import type { Parts, Visit } from './parts.ts'
import { Problem } from './problem.ts'
import { Query } from './query.ts'
import { lockJson } from './records.ts'
import type { LockDetailJson, LockPageJson, ReleasedJson } from './wire.ts'

const PATH = '/api/locks/'
/** A filter that matches little reads at most this many pages of the store for one of its own. */
const MOST_PAGES = 10
const MOST_WHY = 500

/** `GET /api/locks`; with `key`, as `GET /api/locks/{key}`. */
export async function listLocks(parts: Parts, visit: Visit): Promise<Response> {
  if (visit.url.searchParams.has('key')) return showLock(parts, visit)
  const query = new Query(visit.url, ['prefix', 'service', 'wanted', 'after', 'limit', 'key'])
  const limit = query.whole('limit', { min: 1, max: 1000 }) ?? 100
  const [prefix, service, wanted] = [query.text('prefix'), query.text('service'), query.flag('wanted')]
  const fits = ({ holder, wanted: isWanted }: LockRecord): boolean =>
    (service === undefined || holder.service === service) && (wanted === undefined || isWanted === wanted)
  let after = query.text('after')
  const found: LockRecord[] = []
  // Where a page ends only the store knows, so a page of ours is one or more of its pages, and never a part of one.
  for (let pages = 0; pages < MOST_PAGES && found.length === 0; pages += 1) {
    const page = await parts.locks.list({ prefix, after, limit })
    found.push(...page.locks.filter(fits))
    after = page.next ?? undefined
    if (after === undefined) break
  }
  const now = Date.now()
  const body: LockPageJson = { locks: found.map((record) => lockJson(record, now)), next: after ?? null }
  return Response.json(body)
}

/** `GET /api/locks/{key}` */
export async function showLock({ locks, observer }: Parts, { url }: Visit): Promise<Response> {
  const key = keyOf(url, new Query(url, isInPath(url) ? [] : ['key']))
  const record = await locks.inspect(key)
  const body: LockDetailJson = {
    key,
    lock: record && lockJson(record),
    history: observer.history.of(key),
  }
  return Response.json(body)
}

/** `DELETE /api/locks/{key}?grant=…&why=…` */
export async function releaseLock({ locks, audit }: Parts, { url, visitor }: Visit): Promise<Response> {
  const query = new Query(url, isInPath(url) ? ['grant', 'why'] : ['key', 'grant', 'why'])
  const key = keyOf(url, query)
  const grant = query.whole('grant', { min: 1, max: Number.MAX_SAFE_INTEGER })
  const why = query.line('why', MOST_WHY) ?? null
  if (grant === undefined)
    throw new Problem('INVALID_REQUEST', 'grant: give the grant that you saw; a later one is left alone')
  const { who, peer } = visitor
  const ended = await audit.begin({ who: who ?? 'unknown', peer, key, grant, why })
  let now: LockRecord | null
  try {
    const record = await locks.forceRelease(key, { grant })
    if (record) {
      await ended('released')
      return Response.json({ released: lockJson(record) } satisfies ReleasedJson)
    }
    now = await locks.inspect(key)
  } catch (error) {
    await ended('unknown')
    throw error
  }
  await ended(now ? 'moved-on' : 'not-held')
  if (!now) throw new Problem('NOT_HELD', 'nobody holds it; nothing was freed')
  throw new Problem('MOVED_ON', `it is held under grant ${now.grant}, not ${grant}; nothing was freed`)
}

/** Of the path, or of `?key=` for those that cannot stand there, `.` and `..`. */
function keyOf(url: URL, query: Query): string {
  const key = isInPath(url) ? decodeURIComponent(url.pathname.slice(PATH.length)) : query.text('key')
  if (key === undefined) throw new Problem('INVALID_REQUEST', 'give a key: /api/locks/{key}, or ?key=…')
  return checkKey(key)
}

function isInPath({ pathname }: URL): boolean {
  return pathname.startsWith(PATH)
}
