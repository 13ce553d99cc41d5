import { isName, notAName } from '../databases/names.ts'
import { checkNames } from '../option-check.ts'
import type { FenceDialect, FencePlace } from './fence.ts'
import { invalid } from './verdict.ts'

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

/** Of a database that is a server, whose tables are made beside transactions. */
export interface ServerFenceSql extends FenceSql {
  /** Returns `yes` or `no`. */
  readonly exists: string
  /** Whether a transaction has to ask that before its first check, since a statement that fails would end it. */
  readonly looksBefore: boolean
}

export interface MysqlFenceSql extends ServerFenceSql {
  /** Reads no table, and no view of the server: MySQL's are on tables, and a transaction sees all as of its first read. */
  readonly version: string
  /** Goes behind `check`, for servers that have it: what was before, and whether that was outside of a transaction. */
  readonly returning: string
  /** For the others: after `check`, what was before it. */
  readonly previous: string
}

export interface SqliteFenceSql extends FenceSql {
  /** Changes nothing, but takes the lock that every change needs. */
  readonly lock: string
}

const PLACE = ['table', 'schema']

/** What creates the table, and its schema unless that is `public`, for those who create tables themselves. */
export function fenceSql(options: FencePlace & { readonly dialect: FenceDialect }): string {
  if (options !== undefined) checkNames('fenceSql', options, [...PLACE, 'dialect'])
  const { dialect } = options ?? {}
  if (dialect === 'postgres') return postgresSql(options).ddl
  if (dialect === 'mysql') return mysqlSql(options).ddl
  if (dialect === 'sqlite') return sqliteSql(options).ddl
  throw invalid("fenceSql: dialect: give 'postgres', 'mysql' or 'sqlite'")
}

/*
 * `previous` is what `token` was before the last check. RETURNING can only give what a row has become, and
 * one statement is to say what it was: a second look may find what another transaction has done since.
 */

export function postgresSql({ table = 'holdfast_fence', schema = 'public' }: FencePlace): ServerFenceSql {
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
    looksBefore: true,
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

/** Values are digits, the resource in hexadecimal: no mode, character set or escaping of a client changes them. */
export function mysqlSql({ table = 'holdfast_fence', schema }: FencePlace): MysqlFenceSql {
  const bare = checkName('table', table)
  const place = schema === undefined ? 'database()' : `'${checkName('schema', schema)}'`
  const name = schema === undefined ? `\`${bare}\`` : `\`${schema}\`.\`${bare}\``
  const create = `create table if not exists ${name} (
  resource varbinary(512) not null primary key,
  token bigint not null,
  previous bigint not null,
  seen_at bigint not null
) engine = InnoDB`
  return {
    table: name,
    ddl: `${create};`,
    grants: 'select, insert, update and delete on the table',
    create,
    version: 'select version() as version',
    exists: `select case count(*) when 0 then 'no' else 'yes' end as found
from information_schema.tables where table_schema = ${place} and table_name = '${bare}'`,
    looksBefore: false,
    // A row that another transaction has changed is waited for, and judged as that one leaves it. What is refused
    // stays locked as well.
    check: `insert into ${name} (resource, token, previous, seen_at)
values (unhex(?), cast(? as signed), 0, unix_timestamp())
on duplicate key update previous = token, token = greatest(token, values(token)), seen_at = values(seen_at)`,
    returning: `returning concat(previous, case @@in_transaction + 0 when 1 then ' inside' else ' outside' end) as previous`,
    previous: `select cast(previous as char) as previous from ${name} where resource = unhex(?) for update`,
    highest: `select cast(token as char) as token from ${name} where resource = unhex(?)`,
    forget: `delete from ${name} where resource = unhex(?)`,
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
