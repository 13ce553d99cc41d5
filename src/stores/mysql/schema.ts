import { checkName, wrongColumns } from '../shared/table.ts'
import { line } from './expressions.ts'

export interface Names {
  /** Undefined: the one that the connection is in. */
  readonly database: string | undefined
  readonly table: string
}

const DEFAULT_TABLE = 'holdfast_locks'

/** The columns and their types, as `information_schema` spells them. */
const COLUMNS: Readonly<Record<string, string>> = {
  key: 'varbinary',
  owner: 'varbinary',
  grant_number: 'bigint',
  holder: 'mediumblob',
  previous: 'mediumblob',
  granted_at: 'bigint',
  lease_ms: 'bigint',
  expires_at: 'bigint',
  wanted: 'tinyint',
  decided_at: 'bigint',
  verdict: 'tinyint',
  freed: 'varbinary',
  freed_wanted: 'tinyint',
}

/** In quotes, for use in a statement. Only checked names come here. Backticks are quotes in every mode. */
export function qualified({ database, table }: Names): string {
  return database === undefined ? `\`${table}\`` : `\`${database}\`.\`${table}\``
}

/**
 * The table, for those who create it themselves. `owner` is null while the key is free; the record stays, so that
 * tokens keep rising. Times are microseconds since 1970, and texts are bytes: no time zone, character set or collation
 * comes in between, and keys that differ in case or in a blank at the end are two.
 */
export function createTable(names: Names): string {
  return `create table if not exists ${qualified(names)} (
  \`key\` varbinary(512) not null primary key,
  owner varbinary(255),
  grant_number bigint not null,
  holder mediumblob not null,
  previous mediumblob,
  granted_at bigint not null,
  lease_ms bigint not null,
  expires_at bigint not null,
  wanted tinyint not null,
  decided_at bigint not null,
  verdict tinyint not null,
  freed varbinary(255),
  freed_wanted tinyint not null
) engine = InnoDB`
}

/**
 * First the version of the server; then a row per column, with the engine, none if there is no such table. Each of the
 * two is told which one it is: else the server looks into all that it has.
 */
export function inspectTable({ database, table }: Names): string {
  const place = database === undefined ? 'database()' : `'${database}'`
  return `select ${line('version()', `'-'`, `'-'`)}
union all
select ${line('c.column_name', 'c.data_type', 't.engine')}
from information_schema.tables as t
join information_schema.columns as c on c.table_schema = ${place} and c.table_name = '${table}'
where t.table_schema = ${place} and t.table_name = '${table}'`
}

export function namesFrom(
  given: { readonly database?: unknown; readonly table?: unknown },
  of: string,
): Names {
  return {
    database: given.database === undefined ? undefined : checkName(given.database, `${of}: database`),
    table: checkName(given.table ?? DEFAULT_TABLE, `${of}: table`),
  }
}

/** What is wrong with the table that was found: rows of `column,type,engine`. */
export function problemsOf(found: readonly string[]): string[] {
  const columns = found.map((row) => row.toLowerCase().split(','))
  const engine = columns[0]?.[2]
  if (engine !== 'innodb') {
    return [`its engine is ${engine}, not InnoDB, so that it can lock no single row, or forgets its locks`]
  }
  return wrongColumns(COLUMNS, columns)
}
