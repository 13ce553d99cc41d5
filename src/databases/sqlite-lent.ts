import type { SqliteDatabase } from './sqlite.ts'

/** How many lock stores use a database that is the user's. */
const stores = new WeakMap<SqliteDatabase, number>()

export function lendToStore(db: SqliteDatabase): void {
  stores.set(db, (stores.get(db) ?? 0) + 1)
}

export function takeBackFromStore(db: SqliteDatabase): void {
  stores.set(db, (stores.get(db) ?? 1) - 1)
}

/** Then a transaction of ours would keep locks from being renewed, its own among them. */
export function isLentToStore(db: SqliteDatabase): boolean {
  return (stores.get(db) ?? 0) > 0
}
