import { has } from './methods.ts'

/** A query of postgres.js: it is sent when someone waits for it. */
export interface PostgresJsQuery extends PromiseLike<readonly unknown[]> {
  values(): PromiseLike<readonly unknown[]>
}

/** What the instance and a transaction of postgres.js have in common. */
export interface PostgresJsQueryable {
  unsafe(text: string, values?: never[], options?: { readonly prepare?: boolean }): PostgresJsQuery
}

/** The part of an instance of postgres.js, `postgres(url)`, that holdfast needs. */
export interface PostgresJs extends PostgresJsQueryable {
  begin<T>(options: string, work: (transaction: PostgresJsQueryable) => Promise<T>): Promise<unknown>
  readonly options: object
}

export function isPostgresJs(value: unknown): value is PostgresJs {
  return has(value, 'unsafe', 'begin')
}

/** True of a transaction, and of the instance itself. */
export function isPostgresJsQueryable(value: unknown): value is PostgresJsQueryable {
  return has(value, 'unsafe')
}
