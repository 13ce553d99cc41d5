import { has } from './methods.ts'

/** The part of a connection of `mysql2/promise`, or of `mariadb`, that holdfast needs. */
export interface MysqlConnection {
  query(options: { sql: string }): Promise<unknown>
  execute(options: { sql: string }, values?: unknown): Promise<unknown>
  beginTransaction(): Promise<unknown>
  destroy(): void
}

export interface MysqlPoolConnection extends MysqlConnection {
  release(): unknown
}

/** The part of a pool of `mysql2/promise`, or of `mariadb`, that holdfast needs. */
export interface MysqlPool {
  getConnection(): Promise<MysqlPoolConnection>
  query(options: { sql: string }): Promise<unknown>
  execute(options: { sql: string }, values?: unknown): Promise<unknown>
}

/** A pool or connection of `mysql2` that takes callbacks: it has one with promises inside. */
export interface MysqlCallbacks<T extends MysqlPool | MysqlConnection> {
  promise(): T
  query(...args: never[]): unknown
  execute(...args: never[]): unknown
}

/** Whatever it is that speaks to MySQL or MariaDB, with promises. `execute` tells it from a client of `pg`. */
export type MysqlClient =
  | MysqlPool
  | MysqlConnection
  | MysqlCallbacks<MysqlPool>
  | MysqlCallbacks<MysqlConnection>

export function isMysqlClient(value: unknown): value is MysqlClient {
  return has(value, 'query', 'execute') && (has(value, 'getConnection') || has(value, 'beginTransaction'))
}

export function isMysqlPool(client: MysqlPool | MysqlConnection): client is MysqlPool {
  return has(client, 'getConnection')
}

/** With promises. The one behind callbacks is always the same, so that it can be told again. */
export function promised(client: MysqlClient): MysqlPool | MysqlConnection {
  if (!has(client, 'promise')) return client as MysqlPool | MysqlConnection
  const known = behind.get(client) ?? (client as MysqlCallbacks<MysqlPool>).promise()
  behind.set(client, known)
  return known
}

const behind = new WeakMap<object, MysqlPool | MysqlConnection>()
