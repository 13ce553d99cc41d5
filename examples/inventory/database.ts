import type { Lease, Locks } from '../../src/index.ts'

export type Value = string | number | null
export type Row = Readonly<Record<string, Value>>

/** Runs one statement, with `?` for each value, and resolves to its rows. */
export type Sql = (text: string, values?: readonly Value[]) => Promise<readonly Row[]>

/** The stock's database: MariaDB, MySQL, or a SQLite file. All that the services say in SQL, both understand. */
export interface Database {
  readonly kind: 'mysql' | 'sqlite'
  /** Outside of any transaction. */
  readonly sql: Sql
  /** What to add to a SELECT so that its rows cannot change until the transaction ends. */
  readonly forUpdate: string
  /** Under the lock and behind the fence: if the lease is lost, or a later holder was here, nothing is stored. */
  guarded<T>(locks: Locks, keys: readonly string[], work: (sql: Sql, lease: Lease) => Promise<T>): Promise<T>
  /** A transaction and nothing else. */
  plain<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  /** How many connections are open. */
  readonly connections: number
  close(): Promise<void>
}

export async function openDatabase(url: string): Promise<Database> {
  if (/^(mysql|mariadb):/.test(url)) return (await import('./mysql.ts')).openMysql(url)
  if (url.startsWith('sqlite:')) return (await import('./sqlite.ts')).openSqlite(url.slice('sqlite:'.length))
  throw new Error(`the stock can be in mysql://… or sqlite:file.db, not in '${url.split(':')[0]}:'`)
}
