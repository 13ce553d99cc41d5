import { isName, notAName } from '../databases/names.ts'
import type { FenceDialect, FencePlace } from './fence.ts'
import { checkOptionNames, invalid } from './verdict.ts'

/** Every statement of a guard. All values are bound and read as text: no setting of a driver changes them. */
export interface FenceSql {
  /** In messages. */
  readonly table: string
  /** For people: all that makes the table, each statement with its semicolon. */
  readonly ddl: string
  /** For people: what a user of the table needs. */
  readonly grants: string
  readonly create: string
  /** $1 resource, $2 token. Returns the highest token before it, '0' if there was none. */
  readonly check: string
  readonly highest: string
  readonly forget: string
}

export interface PostgresFenceSql extends FenceSql {
  /** Returns 'yes' or 'no'. */
  readonly exists: string
}

export interface SqliteFenceSql extends FenceSql {
  /** Changes nothing, but takes the lock that every change needs. */
  readonly lock: string
}

const PLACE = ['table', 'schema']

/** What creates the table, and its schema unless that is `public`, for those who create tables themselves. */
export function fenceSql(options: FencePlace & { readonly dialect: FenceDialect }): string {
  checkOptionNames('fenceSql', options, [...PLACE, 'dialect'])
  if (options.dialect === 'postgres') return postgresSql(options).ddl
  if (options.dialect === 'sqlite') return sqliteSql(options).ddl
  throw invalid("fenceSql: dialect: give 'postgres' or 'sqlite'")
}

/*
 * `previous` is what `token` was before the last check. RETURNING can only give what a row has become, and
 * one statement is to say what it was: a second look may find what another transaction has done since.
 */

export function postgresSql({ table = 'holdfast_fence', schema = 'public' }: FencePlace): PostgresFenceSql {
  const name = `"${checkName('schema', schema)}"."${checkName('table', table)}"`
  const create = `create table if not exists ${name} (
  resource text collate "C" primary key,
  token bigint not null,
  previous bigint not null,
  seen_at timestamptz not null
) with (fillfactor = 50)`
  return {
    table: name,
    ddl: schema === 'public' ? `${create};` : `create schema if not exists "${schema}";\n${create};`,
    grants: `usage on the schema "${schema}", and select, insert, update and delete on the table`,
    // One statement, so that any client can send it; one process at a time, since racing creations fail.
    // Asks before it creates: what is there already would be a notice, and some drivers print those.
    create: `do $$ begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast fence ${name}', 0));
  if to_regnamespace('"${schema}"') is null then create schema "${schema}"; end if;
  if to_regclass('${name}') is null then ${create}; end if;
end $$`,
    exists: `select case when to_regclass('${name}') is null then 'no' else 'yes' end as found`,
    // A row that another transaction has changed is waited for, and judged as that one leaves it. Under
    // repeatable read and serializable it is 40001 instead. What is refused stays locked as well.
    check: `insert into ${name} as f (resource, token, previous, seen_at)
values ($1::text, $2::text::bigint, 0, clock_timestamp())
on conflict (resource) do update
set token = greatest(f.token, excluded.token), previous = f.token, seen_at = clock_timestamp()
returning f.previous::text as previous`,
    highest: `select token::text as token from ${name} where resource = $1::text`,
    forget: `delete from ${name} where resource = $1::text returning token::text as token`,
  }
}

export function sqliteSql({ table = 'holdfast_fence', schema }: FencePlace): SqliteFenceSql {
  if (schema !== undefined) throw invalid('schema: SQLite has no schemas; give a table only')
  if (/^sqlite_/i.test(checkName('table', table)))
    throw invalid('table: SQLite keeps names with sqlite_ to itself')
  const name = `main."${table}"`
  const create = `create table if not exists ${name} (
  resource text not null primary key,
  token integer not null,
  previous integer not null,
  seen_at integer not null
) without rowid`
  const now = `cast(strftime('%s', 'now') as integer)`
  return {
    table: `"${table}"`,
    ddl: `${create};`,
    grants: 'rights to read and write the file',
    create,
    lock: `update ${name} set token = token where 0`,
    check: `insert into ${name} as f (resource, token, previous, seen_at)
values (?, cast(? as integer), 0, ${now})
on conflict (resource) do update
set token = max(f.token, excluded.token), previous = f.token, seen_at = excluded.seen_at
returning cast(previous as text) as previous`,
    highest: `select cast(token as text) as token from ${name} where resource = ?`,
    forget: `delete from ${name} where resource = ? returning cast(token as text) as token`,
  }
}

function checkName(what: string, name: unknown): string {
  if (isName(name)) return name
  throw invalid(`${what}: ${notAName(name)}`)
}
