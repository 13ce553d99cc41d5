import { randomUUID } from 'node:crypto'
import type { SqliteDatabase } from '../../src/stores/sqlite/index.ts'
import { loadDriver } from '../../src/stores/sqlite/driver.ts'

const LEASE_MS = 30_000

const CREATE = `create table if not exists plain_locks
  (key text primary key, owner text not null, expires_at integer not null) without rowid`

const TAKE = `insert into plain_locks as l (key, owner, expires_at) values (?, ?, ?)
on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at
where l.expires_at < ?`

const GIVE_BACK = `delete from plain_locks where key = ? and owner = ?`

/** What one writes by hand: a statement takes a key, another gives it back, each a transaction. */
export interface Plain {
  /** Null if the key is held. */
  take(key: string): string | null
  giveBack(key: string, owner: string): void
  close(): void
}

/** Opens a file as the store does, with the same driver. */
export async function openAlike(file: string): Promise<SqliteDatabase> {
  return setAlike((await loadDriver())(file))
}

/** The same log, flushed as seldom. */
export function setAlike<T extends SqliteDatabase>(db: T): T {
  // Unlike the store, which is busy for a moment only and tries again, those who write by hand let SQLite wait.
  db.exec('pragma busy_timeout = 5000')
  db.exec('pragma synchronous = normal')
  db.exec('pragma wal_autocheckpoint = 250')
  db.exec('pragma journal_mode = wal')
  return db
}

export async function openPlain(file: string): Promise<Plain> {
  const db = await openAlike(file)
  db.exec(CREATE)
  const [take, giveBack] = [db.prepare(TAKE), db.prepare(GIVE_BACK)]
  return {
    take(key) {
      const [owner, now] = [randomUUID(), Date.now()]
      return changed(take.run(key, owner, now + LEASE_MS, now)) ? owner : null
    },
    giveBack(key, owner) {
      if (!changed(giveBack.run(key, owner))) throw new Error(`"${key}" was not ours`)
    },
    close: () => void db.close(),
  }
}

/** Takes a key that nobody else wants, and gives it back. */
export function pairOf(plain: Plain, key: string): void {
  const owner = plain.take(key)
  if (owner === null) throw new Error(`"${key}" was held`)
  plain.giveBack(key, owner)
}

function changed(result: unknown): boolean {
  return Number((result as { changes: number | bigint }).changes) === 1
}
