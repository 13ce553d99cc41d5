/** A value that holdfast binds or reads. */
export type SqlValue = string | number | null

/**
 * The part of a prepared statement that better-sqlite3, libsql and `node:sqlite` have in common. Only
 * `SqlValue`s are bound; `unknown`, because TypeScript 5 finds `null` at odds with the `{}` that
 * better-sqlite3 and libsql declare there.
 */
export interface SqliteStatement {
  run(...values: unknown[]): unknown
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

/**
 * The part of a synchronous SQLite driver that holdfast needs: a `Database` of better-sqlite3 or
 * libsql, or a `DatabaseSync` of `node:sqlite`.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** A statement whose rows are objects; a connection of `node:sqlite` may be set to give arrays. */
export function prepare(db: SqliteDatabase, sql: string): SqliteStatement {
  const statement: SqliteStatement & { setReturnArrays?: (on: boolean) => void } = db.prepare(sql)
  statement.setReturnArrays?.(false)
  return statement
}
