import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSqliteBusy, type SqliteDatabase } from '../../../src/databases/sqlite.ts'
import { loadDriver } from '../../../src/stores/sqlite/driver.ts'
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
        begin: async () => {
          busy = openDatabase(path)
          busy.exec('pragma busy_timeout = 0')
          // A worker that stands still may have it until it goes on.
          while (!begins(busy)) await sleep(20)
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

function begins(db: SqliteDatabase): boolean {
  try {
    db.exec('begin immediate')
    return true
  } catch (error) {
    if (!isSqliteBusy(error)) throw error
    return false
  }
}
