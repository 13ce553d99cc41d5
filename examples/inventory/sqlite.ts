import { fence } from '../../src/fence/index.ts'
import type { Database, Row, Sql } from './database.ts'

interface SqliteFile {
  exec(sql: string): unknown
  prepare(sql: string): {
    all(...values: unknown[]): unknown[]
    get(...values: unknown[]): unknown
    run(...values: unknown[]): unknown
  }
  close(): unknown
}

/** How long a statement waits for another process to finish its transaction. */
const BUSY_MS = 5000

/**
 * A connection has one transaction at a time, and whatever is said on it meanwhile becomes part of that one. So there
 * are three: to look, to write under a lock, and to write without.
 */
export async function openSqlite(path: string): Promise<Database> {
  const open = await loadDriver()
  const connect = (): SqliteFile => {
    const file = open(path)
    file.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`)
    return file
  }
  const files = [connect(), connect(), connect()] as const
  const [reader, keeper, writer] = files
  const guard = fence(keeper)
  let turn: Promise<unknown> = Promise.resolve()
  return {
    kind: 'sqlite',
    sql: sqlOn(reader),
    // BEGIN IMMEDIATE has kept all other writers out already.
    forUpdate: '',
    connections: files.length,
    guarded: (locks, keys, work) =>
      locks.transaction(keys, keeper, (_tx, lease) => work(sqlOn(keeper), lease), { fence: guard }),
    plain: (work) => {
      const mine = turn.then(() => inTransaction(writer, work))
      turn = mine.catch(() => undefined)
      return mine
    },
    close: async () => files.forEach((file) => file.close()),
  }
}

async function inTransaction<T>(file: SqliteFile, work: (sql: Sql) => Promise<T>): Promise<T> {
  file.exec('BEGIN IMMEDIATE')
  try {
    const result = await work(sqlOn(file))
    file.exec('COMMIT')
    return result
  } catch (error) {
    file.exec('ROLLBACK')
    throw error
  }
}

function sqlOn(file: SqliteFile): Sql {
  return async (text, values = []) => {
    const statement = file.prepare(text)
    if (/^\s*select/i.test(text)) return statement.all(...values) as Row[]
    statement.run(...values)
    return []
  }
}

/** `node:sqlite` where the runtime has it, libsql on Node 20. */
async function loadDriver(): Promise<(path: string) => SqliteFile> {
  const builtIn = process.getBuiltinModule?.('node:sqlite') as { DatabaseSync: FileClass } | undefined
  if (builtIn) return (path) => new builtIn.DatabaseSync(path)
  const { default: Libsql } = (await import('libsql')) as unknown as { default: FileClass }
  return (path) => new Libsql(path)
}

type FileClass = new (path: string) => SqliteFile
