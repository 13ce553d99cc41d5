import { createHash } from 'node:crypto'
import {
  FREED,
  held,
  joined,
  LOCK_TIMEOUT,
  MAY_BE_LOST,
  micros,
  millis,
  WAKE_WOKEN,
  wanted,
} from './expressions.ts'
import { type Names, qualified } from './schema.ts'
import { acquireStep, releaseStep, renewStep } from './steps.ts'

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
  readonly acquireOne: Statement
  readonly acquire: Statement
  readonly renew: Statement
  readonly releaseOne: Statement
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
  const acquire = acquireStep(names)
  const release = releaseStep(names)
  // Reads the latest version of the rows, whatever the statement's snapshot says, and keeps them.
  const locked = (keys: string, ...settings: readonly string[]): string => `with claims as materialized (
  select k.key from (select ${settings.join(', ')}) as s, unnest(${keys}) as k(key)
), locked as materialized (
  select l.* from claims as c join ${table} as l on l.key = c.key
  order by l.key for no key update of l
)`

  return {
    acquireOne: statement('acquire_one', acquire.one),
    acquire: statement('acquire', acquire.many),
    renew: statement('renew', renewStep(names)),
    releaseOne: statement('release_one', release.one),
    release: statement('release', release.many),

    // $1 exact key or null, $2 prefix, $3 after, $4 limit
    list: unnamed(
      `select ${record('l')} from ${table} as l
where ($1::text is null or l.key = $1) and l.key >= $2::text and starts_with(l.key, $2) and l.key > $3::text
  and ${held('l')}
order by l.key limit $4::text::bigint`,
    ),

    // $1 key, $2 grant
    evict: unnamed(
      `${locked('array[$1::text]', LOCK_TIMEOUT)}
update ${table} as l set ${FREED}
from locked
where l.key = locked.key and ${held('locked')} and locked.grant_number = $2::text::bigint
returning ${record('locked')}, ${WAKE_WOKEN}`,
    ),

    free: unnamed(
      `select k.key from unnest($1::text::text[]) as k(key) left join ${table} as l on l.key = k.key
where not coalesce(${held('l')}, false)`,
    ),

    // $1 keys, $2 the process that will be woken for them. Those that are held; the others may be asked for now.
    enlist: unnamed(
      `${locked('$1::text::text[]', LOCK_TIMEOUT, MAY_BE_LOST)}
update ${table} as l set wanted = true, waiters = ${joined('l.waiters', '$2::text')}
from locked where l.key = locked.key and ${held('locked')}
returning l.key`,
    ),

    // $1 keys, $2 the process that waits for them no more.
    dismiss: unnamed(
      `${locked('$1::text::text[]', LOCK_TIMEOUT, MAY_BE_LOST)}
update ${table} as l set waiters = array_remove(l.waiters, $2::text)
from locked where l.key = locked.key and $2::text = any(locked.waiters)`,
    ),

    // $1 a key that a process was woken for and has not asked for: wakes the next, if it is still free. $2 the
    // process, if it goes on waiting.
    pass: unnamed(
      `${locked('array[$1::text]', LOCK_TIMEOUT, MAY_BE_LOST)}
update ${table} as l
set waiters = ${joined('l.waiters[d.first:]', '$2::text')}, woken = l.waiters[d.first - 1]
from locked, lateral (select case when ${held('locked')} then 1 else 2 end as first offset 0) as d
where l.key = locked.key
returning ${WAKE_WOKEN}`,
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
  delete from ${table} as l using stale where l.key = stale.key and ${MAY_BE_LOST} is not null
)
select max(key) from looked_at having count(*) >= $2::text::bigint`,
    ),

    notify: statement('notify', `select pg_notify($1::text, $2::text)::text`),

    // One row per column, or one without a column if there is no such relation; none without the schema.
    inspect: unnamed(
      `select a.attname::text, format_type(a.atttypid, a.atttypmod), c.relkind::text, c.relpersistence::text,
  current_setting('server_encoding'), o.collisdeterministic::text
from pg_namespace as n
left join pg_class as c on c.relnamespace = n.oid and c.relname = $2::text
left join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_collation as o on o.oid = a.attcollation
where n.nspname = $1::text`,
    ),
  }
}

function record(l: string): string {
  return `${l}.key, ${l}.grant_number::text, ${l}.holder::text, ${millis(l + '.granted_at')}::text,
  ${l}.lease_ms::text, ${millis(`${l}.expires_at - clock_timestamp()`)}::text, ${wanted(l)}::text`
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
