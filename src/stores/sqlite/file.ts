import { statSync } from 'node:fs'
import { prepare, type SqliteDatabase } from '../../databases/sqlite.ts'

/** Which file a path leads to. No other can have the same numbers as long as it is open. */
export interface Identity {
  readonly dev: number
  readonly ino: number
}

/** Undefined if there is no file. Takes a few microseconds. */
export function identify(path: string): Identity | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

export function same(a: Identity | undefined, b: Identity | undefined): boolean {
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
}

/** The main file of a database, symbolic links resolved; empty if it is in memory. */
export function fileOf(db: SqliteDatabase): string {
  const rows = prepare(db, 'pragma database_list').all() as { name: string; file: string | null }[]
  return rows.find(({ name }) => name === 'main')?.file ?? ''
}
