import { join } from 'node:path'
import { loadDriver } from '../../../src/stores/sqlite/driver.ts'
import type { SqliteDatabase } from '../../../src/databases/sqlite.ts'
import type { Arena } from './arena.ts'

export default async function open(folder: string): Promise<Arena> {
  const path = join(folder, 'locks.db')
  const openDatabase = await loadDriver()
  return {
    url: `sqlite:${path}`,
    addresses: [{ kind: 'sqlite', driver: 'path', url: path }],
    ports: [],
    strike: (random) => {
      let busy: SqliteDatabase | undefined
      return {
        ...{ fault: 'file busy', target: 'all', loses: false, ms: random.between(100, 5000) },
        begin: () => {
          const db = openDatabase(path)
          db.exec('pragma busy_timeout = 2000')
          db.exec('begin immediate')
          busy = db
        },
        end: () => {
          busy?.exec('commit')
          busy?.close()
        },
      }
    },
    keepLogs: () => {},
    stop: async () => {},
  }
}
