import { LockError } from '../../errors.ts'
import type { SqliteDatabase } from '../../databases/sqlite.ts'

export type OpenDatabase = (path: string) => SqliteDatabase

/**
 * Finds what opens a file: `node:sqlite` where the runtime has it, since then nothing needs to be
 * installed, else libsql. Node 22 prints its ExperimentalWarning for the former; hiding it would mean
 * to patch `process`, which is not ours.
 */
export async function loadDriver(): Promise<OpenDatabase> {
  const builtIn = process.getBuiltinModule?.('node:sqlite') as { DatabaseSync: DatabaseClass } | undefined
  if (builtIn) return (path) => new builtIn.DatabaseSync(path)
  const { default: Database } = await importLibsql()
  return (path) => new Database(path)
}

type DatabaseClass = new (path: string) => SqliteDatabase

async function importLibsql(): Promise<{ default: DatabaseClass }> {
  try {
    return await import('libsql')
  } catch (cause) {
    throw new LockError(
      'INVALID_OPTION',
      'sqliteStore: no SQLite driver can be loaded; run `npm install libsql`, use Node 22.13 or later, ' +
        'or open the file with a driver of your own and pass the database',
      { cause },
    )
  }
}
