import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { Store } from '../../src/store.ts'
import type { SqliteDatabase } from '../../src/databases/sqlite.ts'
import { loadDriver } from '../../src/stores/sqlite/driver.ts'
import { sqliteStore, type SqliteStoreOptions } from '../../src/stores/sqlite/index.ts'
import { SqliteProcess } from './sqlite-process.ts'

// The driver that the store uses too: two copies of SQLite in one process must not share a file.
const openDatabase = await loadDriver()

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

export function atEnd(end: () => unknown): void {
  endings.push(end)
}

/** A folder that is gone after the test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function freshPath(): string {
  return join(freshFolder(), 'locks.db')
}

/** A store that is closed after the test. */
export function storeAt(at: string | SqliteDatabase, options?: SqliteStoreOptions): Store {
  const store = sqliteStore(at, options)
  atEnd(() => store.close())
  return store
}

export async function openStoreAt(at: string | SqliteDatabase, options?: SqliteStoreOptions): Promise<Store> {
  const store = storeAt(at, options)
  await store.open()
  return store
}

/** A connection beside the store's. */
export function databaseAt(path: string): SqliteDatabase {
  const db = openDatabase(path)
  atEnd(() => {
    try {
      db.close()
    } catch {
      // Closed by the test.
    }
  })
  return db
}

export async function processes(count: number): Promise<SqliteProcess[]> {
  const started = await SqliteProcess.startMany(count)
  atEnd(() => Promise.all(started.map((one) => one.end())))
  return started
}

/** Waits for a condition, not for a guess of time. */
export async function until(what: string, holds: () => unknown, capMs = 10_000): Promise<void> {
  const end = performance.now() + capMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
