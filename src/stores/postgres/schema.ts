import { checkName, wrongColumns } from '../shared/table.ts'

export interface Names {
  readonly schema: string
  readonly table: string
}

export const DEFAULT_NAMES: Names = { schema: 'public', table: 'holdfast_locks' }

/** The advisory lock of all who create a table or schema for holdfast; any number that others hardly use. */
const CREATION = 5_207_264_918_305_521n

/** The columns and their types, as `format_type` spells them. */
const COLUMNS: Readonly<Record<string, string>> = {
  key: 'text',
  owner: 'text',
  grant_number: 'bigint',
  holder: 'json',
  previous: 'json',
  granted_at: 'timestamp with time zone',
  lease_ms: 'bigint',
  expires_at: 'timestamp with time zone',
  wanted: 'boolean',
  waiters: 'text[]',
  woken: 'text',
}

/** Both names in quotes, for use in a statement. Only checked names come here. */
export function qualified({ schema, table }: Names): string {
  return `"${schema}"."${table}"`
}

/**
 * The table, for those who create it themselves. `owner` is null while the key is free; the record stays, so
 * that tokens keep rising. Every lock and unlock is an update that touches no index: with room on the page it
 * is a HOT update, which leaves nothing for the index to clean up.
 */
export function createTable(names: Names): string {
  return `create table if not exists ${qualified(names)} (
  key text collate "C" primary key,
  owner text,
  grant_number bigint not null,
  holder json not null,
  previous json,
  granted_at timestamptz not null,
  lease_ms bigint not null,
  expires_at timestamptz not null,
  wanted boolean not null,
  waiters text[] not null,
  woken text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)`
}

export function createSchema({ schema }: Names): string {
  return `create schema if not exists "${schema}"`
}

/** Everything at once, in one implicit transaction, by one process at a time: racing creations fail otherwise. */
export function createScript(names: Names, schemaExists: boolean): string {
  return [
    `select set_config('client_min_messages', 'warning', true)`,
    `select pg_advisory_xact_lock(${CREATION})`,
    ...(schemaExists ? [] : [createSchema(names)]),
    createTable(names),
  ].join(';\n')
}

export function namesFrom(given: { readonly schema?: unknown; readonly table?: unknown }, of: string): Names {
  return {
    schema: checkName(given.schema ?? DEFAULT_NAMES.schema, `${of}: schema`),
    table: checkName(given.table ?? DEFAULT_NAMES.table, `${of}: table`),
  }
}

/** What is wrong with the relation that was found: rows of [column, type, relkind, relpersistence, encoding, deterministic]. */
export function problemsOf(found: readonly (readonly unknown[])[]): string[] {
  const [first] = found
  if (!first) return ['it is not there']
  const [, , kind, persistence, encoding] = first
  if (encoding !== 'UTF8') return [`the encoding of the database is ${String(encoding)}, not UTF8`]
  if (kind !== 'r' && kind !== 'p') return ['it is not a table']
  if (persistence !== 'p') return ['it is unlogged or temporary, and would forget its locks in a crash']
  if (found.some(([column, , , , , deterministic]) => column === 'key' && deterministic === 'false'))
    return ['column key should be text collate "C", and not of a collation that takes different keys for one']
  return wrongColumns(COLUMNS, found)
}
