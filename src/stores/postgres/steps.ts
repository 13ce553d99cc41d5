import { type Names, qualified } from './schema.ts'
import {
  FREED,
  joined,
  later,
  LOCK_TIMEOUT,
  MAY_BE_LOST,
  micros,
  millis,
  MUST_LAST,
  WAKE_WOKEN,
} from './expressions.ts'

/** The text of a step for one key, and that for any number of them. */
interface Step {
  readonly one: string
  readonly many: string
}

const COLUMNS =
  'key, owner, grant_number, holder, granted_at, lease_ms, expires_at, wanted, waiters, previous'

/**
 * The steps that locking is made of, as upserts: these always go by the index, also when they were planned while the
 * table was small. For a single key a simpler text does the same in less time.
 *
 * Where all is as it mostly is, one short text comes back for the whole batch, else a list in JSON: rows and columns
 * cost both sides more than the locks. The keys of a batch are sorted here, whatever order they came in; the short
 * text is in the order of the batch, and only sent if the two agree.
 */
export function acquireStep(names: Names): Step {
  // `s` is one row, read first.
  const insert = (
    source: string,
    holder: string,
  ): string => `insert into ${qualified(names)} as l (${COLUMNS})
  select a.key, a.owner, s.micros, ${holder}, s.now, a.lease_ms, ${later('s.now', 'a')}, false, '{}', null
  from (
    select n.now, ${micros('n.now')} as micros, ${LOCK_TIMEOUT}, ${MUST_LAST}
    from (select clock_timestamp() as now offset 0) as n
  ) as s, ${source}`
  // The set-list takes its values from one subquery, which reads the clock once: with a clock_timestamp()
  // in each of them, the owner could be decided before a lease's end and its grant number after.
  // $5 is the asking process if it listens.
  const decide = (waits: string): string => `on conflict (key) do update
  set (owner, grant_number, holder, previous, granted_at, lease_ms, expires_at, wanted, waiters) = (
    select
      case when d.free then excluded.owner else l.owner end,
      case when d.free then greatest(l.grant_number + 1, ${micros('d.now')}) else l.grant_number end,
      case when d.free then excluded.holder else l.holder end,
      case when d.free then case when l.owner is not null and l.grant_number > 0 then l.holder end
        when d.mine then null else l.previous end,
      case when d.free then d.now else l.granted_at end,
      case when d.free then excluded.lease_ms else l.lease_ms end,
      case when d.free then ${later('d.now', 'excluded')}
        when d.mine then greatest(l.expires_at, ${later('d.now', 'excluded')})
        else l.expires_at end,
      not d.free and (l.wanted or not d.mine),
      case when d.free then array_remove(l.waiters, $5::text)
        when d.mine or not ${waits} then l.waiters
        else ${joined('l.waiters', '$5::text')} end
    from (
      select n.now, l.owner is null or l.expires_at <= n.now as free, l.owner = excluded.owner as mine
      from (select clock_timestamp() as now) as n
      offset 0
    ) as d
  )`
  const answer = (a: string, granted: string, anyGranted: string): string => `json_build_array(
      ${a}.key, ${a}.grant_number::text, ${a}.owner, case when ${granted} then ${a}.previous else ${a}.holder end,
      case when not ${granted} then ${millis(`${a}.expires_at - clock_timestamp()`)} end,
      case when not ${anyGranted} then ${MAY_BE_LOST} end)`

  const mine = 'l.owner = $2::text'
  return {
    // $4 is the holder, $6 whether to wait.
    one: `${insert('(select $1::text, $2::text, $3::text::bigint) as a(key, owner, lease_ms)', '$4::text::json')}
  ${decide('$6::text::boolean')}
  returning case when ${mine} and l.previous is null then l.grant_number::text
    else json_build_array(${answer('l', mine, mine)})::text end`,

    // $4 is which of the holders in $7, since most asks have the same; $6 the keys to wait for.
    many: `with answers as (
  ${insert(
    `(select $7::text::json[] as holders offset 0) as h,
    unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::int[]) as a(key, owner, lease_ms, holder)`,
    'h.holders[a.holder]',
  )}
  order by a.key collate "C"
  ${decide('l.key in (select unnest($6::text::text[]))')}
  returning key, owner, grant_number, holder, previous, expires_at
)
select case when d.plain then d.grants else (
    select json_agg(${answer('a', 'a.granted', 'a.any_granted')})
    from (
      select *, bool_or(g.granted) over () as any_granted
      from (select *, owner in (select unnest($2::text::text[])) as granted from answers offset 0) as g
      offset 0
    ) as a
  )::text end
from (
  select array_agg(owner) = $2::text::text[] and bool_and(previous is null) as plain,
    string_agg(grant_number::text, ',') as grants
  from answers
) as d`,
  }
}

/**
 * A record that is missing comes into being, with no number above 0 and long run out: it means nothing, and goes with
 * the next clean-up. `wanted` carries whether to rotate; the number, below zero, what to raise it to.
 */
export function renewStep(names: Names): string {
  return `with answers as (
  insert into ${qualified(names)} as l (${COLUMNS})
  select c.key, c.owner, -c.raise_to, '{}', s.now, c.lease_ms, '-infinity', c.rotate, '{}', null
  from (select clock_timestamp() as now, ${LOCK_TIMEOUT}, ${MUST_LAST}) as s,
    unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::boolean[], $5::text::bigint[])
      as c(key, owner, lease_ms, rotate, raise_to)
  order by c.key collate "C"
  on conflict (key) do update set
    expires_at = greatest(l.expires_at, ${later('clock_timestamp()', 'excluded')}),
    lease_ms = excluded.lease_ms,
    grant_number = case when excluded.wanted then greatest(l.grant_number + 1, ${micros('clock_timestamp()')})
      else greatest(l.grant_number, -excluded.grant_number) end
  where l.owner = excluded.owner and l.expires_at > clock_timestamp()
  returning key, owner, grant_number
)
select case when d.plain then d.grants else (
    select json_agg(json_build_array(key, grant_number::text)) from answers
  )::text end
from (
  select array_agg(owner) = $2::text::text[] as plain, string_agg(grant_number::text, ',') as grants from answers
) as d`
}

/**
 * The record is free from the end of its lease, or from now; `keep` starts there. What was in force when the statement
 * began, and still ours when the row was locked, counts as released. One that is missing: as with a renewal.
 */
export function releaseStep(names: Names): Step {
  const upsert = (source: string, order = ''): string => `insert into ${qualified(names)} as l (${COLUMNS})
  select c.key, c.owner, 0, '{}', s.now, 0, '-infinity', false, '{}', null
  from (select clock_timestamp() as now, ${LOCK_TIMEOUT}, ${MAY_BE_LOST}) as s, ${source} as c(key, owner)${order}
  on conflict (key) do update set ${FREED}
  where l.owner = excluded.owner`
  const released = 'l.expires_at >= statement_timestamp()'
  const wanted = '(l.wanted or l.woken is not null)'
  return {
    one: `${upsert('(select $1::text, $2::text)')}
  returning case when ${wanted} or not ${released}
    then json_build_array(json_build_array(l.key, ${released}, ${wanted}, ${WAKE_WOKEN}))::text end`,

    many: `with answers as (
  ${upsert('unnest($1::text::text[], $2::text::text[])', '\n  order by c.key collate "C"')}
  returning key, ${released} as released, ${wanted} as wanted, ${WAKE_WOKEN}
)
select case when count(*) < cardinality($1::text::text[]) or bool_or(wanted or not released)
  then coalesce(json_agg(json_build_array(key, released, wanted))::text, '[]') end
from answers`,
  }
}
