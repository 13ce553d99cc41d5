import { createHash } from 'node:crypto'
import { type Names, qualified } from './schema.ts'

/**
 * One statement with parameters. Those with a name are prepared; it differs when the text does, also between versions
 * of holdfast. Those that join with the table have none, so that they are planned anew each time: a plan that was made
 * while the table was small reads all of it, and goes on doing so when it has grown.
 */
export interface Statement {
  readonly name?: string
  readonly text: string
}

export interface Statements {
  readonly acquire: Statement
  readonly renew: Statement
  readonly release: Statement
  readonly list: Statement
  readonly evict: Statement
  readonly free: Statement
  readonly enlist: Statement
  readonly dismiss: Statement
  readonly pass: Statement
  readonly sweep: Statement
  readonly notify: Statement
  readonly inspect: Statement
}

/** A row that stays locked this long belongs to somebody's forgotten transaction. Below the limit of a call. */
const LOCK_TIMEOUT_MS = 2000

/** Longer keys travel as a digest: the server keeps 8 GB of pending messages at most, and each under 8 KB. */
export const LONGEST_PLAIN_KEY = 120

/** What a listener hears: `=key`, or `#sha256` of a long key. `?` is its own echo. */
export const PLAIN = '='
export const DIGEST = '#'
export const ECHO = '?'

/** Further processes poll until the list is shorter: it is copied with each version of the row. */
const MAX_WAITERS = 100

/** Every waiting process listens on a channel of its own: a release wakes one of them, not all. */
export function channelOf(waiter: string): string {
  return `holdfast:${waiter}`
}

/**
 * Every statement of the store. What they have in common:
 *
 * - Values arrive as text, arrays as one literal, and everything comes back as text, so that no type parser,
 *   array support or setting of a driver is in the way.
 * - Rows are locked in the order of their keys, and what is decided is decided on the locked row, with the
 *   clock read after the lock was got. `now()` would be the start of the transaction, before any wait.
 * - A key is held if `owner` is not null and `expires_at` has not come.
 */
export function statementsFor(names: Names): Statements {
  const table = qualified(names)
  const lockTimeout = `set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true)`
  // Losing a release or a mark in a crash of the server is safe: the lease runs out. Losing a grant is not.
  const mayBeLost = `set_config('synchronous_commit', 'off', true)`
  // Where the server would not wait for the disk, a crash could forget a holder.
  const mustLast = `case when current_setting('synchronous_commit') = 'off'
    then set_config('synchronous_commit', 'on', true) end`
  const wakeWoken = `case when l.woken is not null
    then pg_notify('${channelOf('')}' || l.woken, ${payload('l.key')})::text end`
  const popped = `waiters = l.waiters[2:], woken = l.waiters[1]`
  const freed = `owner = null, expires_at = least(l.expires_at, clock_timestamp()), ${popped}`

  // Reads the latest version of the rows, whatever the statement's snapshot says, and keeps them.
  const locked = (keys: string, ...settings: readonly string[]): string => `with claims as materialized (
  select k.key from (select ${settings.join(', ')}) as s, unnest(${keys}) as k(key)
), locked as materialized (
  select l.* from claims as c join ${table} as l on l.key = c.key
  order by l.key for no key update of l
)`

  return {
    // The set-list takes its values from one subquery, which reads the clock once: with a clock_timestamp()
    // in each of them, the owner could be decided before a lease's end and its grant number after.
    // `s` is one row, read first. $4 is which of the holders in $7: most asks
    // have the same. $5 is the asking process if it listens, $6 the keys that it waits for.
    acquire: statement(
      'acquire',
      `with answers as (
  insert into ${table} as l
    (key, owner, grant_number, holder, previous, granted_at, lease_ms, expires_at, wanted, waiters)
  select a.key, a.owner, ${micros('s.now')}, s.holders[a.holder]::json, null, s.now, a.lease_ms, ${later('s.now', 'a')}, false, '{}'
  from (select clock_timestamp() as now, $7::text::text[] as holders, ${lockTimeout}, ${mustLast}) as s,
    unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::int[]) as a(key, owner, lease_ms, holder)
  order by a.key collate "C"
  on conflict (key) do update
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
        when d.mine or l.key not in (select unnest($6::text::text[])) then l.waiters
        else ${joined('l.waiters', '$5::text')} end
    from (
      select n.now, l.owner is null or l.expires_at <= n.now as free, l.owner = excluded.owner as mine
      from (select clock_timestamp() as now) as n
      offset 0
    ) as d
  )
  returning key, owner, grant_number, holder, previous, expires_at
)
select a.key, a.grant_number::text, a.owner,
  case when a.granted then a.previous else a.holder end::text,
  case when not a.granted then ${millis('a.expires_at - clock_timestamp()')}::text end,
  case when not bool_or(a.granted) over () then ${mayBeLost} end
from (select *, owner in (select unnest($2::text::text[])) as granted from answers offset 0) as a`,
    ),

    // As an upsert, which always goes by the index. A record that is missing comes into being, with number 0 and
    // long run out: it means nothing, and goes with the next clean-up. `wanted` carries whether to rotate.
    renew: statement(
      'renew',
      `insert into ${table} as l
  (key, owner, grant_number, holder, granted_at, lease_ms, expires_at, wanted, waiters)
select c.key, c.owner, 0, '{}', s.now, c.lease_ms, '-infinity', c.rotate, '{}'
from (select clock_timestamp() as now, ${lockTimeout}, ${mustLast}) as s,
  unnest($1::text::text[], $2::text::text[], $3::text::bigint[], $4::text::boolean[]) as c(key, owner, lease_ms, rotate)
order by c.key collate "C"
on conflict (key) do update set
  expires_at = greatest(l.expires_at, ${later('clock_timestamp()', 'excluded')}),
  lease_ms = excluded.lease_ms,
  grant_number = case when excluded.wanted then greatest(l.grant_number + 1, ${micros('clock_timestamp()')})
    else l.grant_number end
where l.owner = excluded.owner and l.expires_at > clock_timestamp()
returning key, grant_number::text`,
    ),

    // In the same way. The record is free from the end of its lease, or from now; `keep` starts there. What was in
    // force when the statement began, and still ours when the row was locked, counts as released.
    release: statement(
      'release',
      `insert into ${table} as l
  (key, owner, grant_number, holder, granted_at, lease_ms, expires_at, wanted, waiters)
select c.key, c.owner, 0, '{}', s.now, 0, '-infinity', false, '{}'
from (select clock_timestamp() as now, ${lockTimeout}, ${mayBeLost}) as s,
  unnest($1::text::text[], $2::text::text[]) as c(key, owner)
order by c.key collate "C"
on conflict (key) do update set ${freed}
where l.owner = excluded.owner
returning key, (expires_at >= statement_timestamp())::text, (wanted or woken is not null)::text, ${wakeWoken}`,
    ),

    // $1 exact key or null, $2 prefix, $3 after, $4 limit
    list: unnamed(
      `select ${record('l')} from ${table} as l
where ($1::text is null or l.key = $1) and l.key >= $2::text and starts_with(l.key, $2) and l.key > $3::text
  and ${held('l')}
order by l.key limit $4::text::bigint`,
    ),

    // $1 key, $2 grant or null
    evict: unnamed(
      `${locked('array[$1::text]', lockTimeout)}
update ${table} as l set ${freed}
from locked
where l.key = locked.key and ${held('locked')}
  and ($2::text is null or locked.grant_number = $2::text::bigint)
returning ${record('locked')}, ${wakeWoken}`,
    ),

    free: unnamed(
      `select k.key from unnest($1::text::text[]) as k(key) left join ${table} as l on l.key = k.key
where not coalesce(${held('l')}, false)`,
    ),

    // $1 keys, $2 the process that will be woken for them. Those that are held; the others may be asked for now.
    enlist: unnamed(
      `${locked('$1::text::text[]', lockTimeout, mayBeLost)}
update ${table} as l set wanted = true, waiters = ${joined('l.waiters', '$2::text')}
from locked where l.key = locked.key and ${held('locked')}
returning l.key`,
    ),

    // $1 keys, $2 the process that waits for them no more.
    dismiss: unnamed(
      `${locked('$1::text::text[]', lockTimeout, mayBeLost)}
update ${table} as l set waiters = array_remove(l.waiters, $2::text)
from locked where l.key = locked.key and $2::text = any(locked.waiters)`,
    ),

    // $1 a key that a process was woken for and has not asked for: wakes the next, if it is still free. $2 the
    // process, if it goes on waiting.
    pass: unnamed(
      `${locked('array[$1::text]', lockTimeout, mayBeLost)}
update ${table} as l
set waiters = ${joined('l.waiters[d.first:]', '$2::text')}, woken = l.waiters[d.first - 1]
from locked, lateral (select case when ${held('locked')} then 1 else 2 end as first offset 0) as d
where l.key = locked.key
returning ${wakeWoken}`,
    ),

    // $1 after which key, $2 how many to look at, $3 keep in ms. A record whose number is ahead of the clock
    // stays: without it the next number would be lower.
    sweep: unnamed(
      `with looked_at as materialized (
  select key from ${table} where key > $1::text order by key limit $2::text::bigint
), stale as materialized (
  select l.key from ${table} as l where l.key in (select key from looked_at)
    and l.expires_at < clock_timestamp() - $3::text::bigint * interval '1 ms'
    and l.grant_number < ${micros('clock_timestamp()')} - $3::text::bigint * 1000
  order by l.key for update skip locked
), gone as (
  delete from ${table} as l using stale where l.key = stale.key and ${mayBeLost} is not null
)
select max(key) from looked_at having count(*) >= $2::text::bigint`,
    ),

    notify: statement('notify', `select pg_notify($1::text, $2::text)::text`),

    // One row per column, or one without a column if there is no such relation; none without the schema.
    inspect: unnamed(
      `select a.attname::text, format_type(a.atttypid, a.atttypmod), c.relkind::text, c.relpersistence::text,
  current_setting('server_encoding')
from pg_namespace as n
left join pg_class as c on c.relnamespace = n.oid and c.relname = $2::text
left join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = $1::text`,
    ),
  }
}

function record(l: string): string {
  return `${l}.key, ${l}.grant_number::text, ${l}.holder::text, ${millis(l + '.granted_at')}::text,
  ${l}.lease_ms::text, ${millis(`${l}.expires_at - clock_timestamp()`)}::text, ${wanted(l)}::text`
}

function held(l: string): string {
  return `${l}.owner is not null and ${l}.expires_at > clock_timestamp()`
}

/** A process that sleeps does not ask, but it wants the key all the same. */
function wanted(l: string): string {
  return `(${l}.wanted or cardinality(${l}.waiters) > 0)`
}

/** Last in the list, once. A process that does not listen is null, and stays out. */
function joined(waiters: string, waiter: string): string {
  return `case when ${waiter} is null or ${waiter} = any(${waiters}) or cardinality(${waiters}) >= ${MAX_WAITERS}
    then ${waiters} else ${waiters} || ${waiter} end`
}

function micros(time: string): string {
  return `(extract(epoch from ${time}) * 1000000)::bigint`
}

function millis(time: string): string {
  return `(extract(epoch from ${time}) * 1000)`
}

function later(time: string, from: string): string {
  return `${time} + ${from}.lease_ms * interval '1 ms'`
}

function payload(key: string): string {
  return `case when octet_length(${key}) <= ${LONGEST_PLAIN_KEY} then '${PLAIN}' || ${key}
    else '${DIGEST}' || encode(sha256(convert_to(${key}, 'UTF8')), 'hex') end`
}

function unnamed(text: string): Statement {
  return { text }
}

function statement(step: string, text: string): Statement {
  const version = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { name: `holdfast_${step}_${version}`, text }
}

/** An array literal: each text in quotes, whatever is in it. */
export function arrayOf(values: readonly (string | number | boolean)[]): string {
  return `{${values.map((value) => (typeof value === 'string' ? quoted(value) : value)).join(',')}}`
}

function quoted(text: string): string {
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`
}
