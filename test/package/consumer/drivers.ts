// The drivers' own classes fit the structural type that the SQLite store asks for. Compiled, never run.
import { DatabaseSync } from 'node:sqlite'
import BetterSqlite from 'better-sqlite3'
import { sqliteStore } from 'holdfast/sqlite'
import Libsql from 'libsql'

export const stores = [
  sqliteStore(new BetterSqlite('./locks.db')),
  sqliteStore(new DatabaseSync('./locks.db')),
  sqliteStore(new Libsql('./locks.db')),
]
