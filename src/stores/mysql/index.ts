import { isMysqlClient, isMysqlPool, type MysqlClient, promised } from '../../databases/mysql.ts'
import { checkDuration, type Duration } from '../../duration.ts'
import { checkFlag, checkNames } from '../../option-check.ts'
import { LockError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import type { Database } from './database.ts'
import { connectionLender, LendingDatabase, poolLender } from './lending.ts'
import { OwnDatabase } from './own-client.ts'
import { createTable, namesFrom } from './schema.ts'
import { MysqlStore } from './store.ts'
import { checkMysqlUrl } from './url.ts'

export type {
  MysqlCallbacks,
  MysqlClient,
  MysqlConnection,
  MysqlPool,
  MysqlPoolConnection,
} from '../../databases/mysql.ts'

export interface MysqlStoreOptions {
  /** Default: the database that the connections are in. */
  readonly database?: string | undefined
  /** Default `holdfast_locks`. */
  readonly table?: string | undefined
  /** How long a record stays after its lease; that is what keeps tokens rising. Default `1h`, at least `3m`. */
  readonly keep?: Duration | undefined
  /** Whether to create the table if it is absent. Default true; see `mysqlSchema`. */
  readonly create?: boolean | undefined
}

/** Shorter, and a statement that waits for a row could outlast a record that it relies on. */
const MIN_KEEP_MS = 180_000

const OPTIONS = ['database', 'table', 'keep', 'create']

/**
 * Locks in a table of MariaDB 10.3 or MySQL 8, or later. Takes a pool or a connection of `mysql2`, with promises or
 * with callbacks, or of `mariadb`, which stay yours to close, or a URL, for which it opens a small pool of its own.
 */
export function mysqlStore(poolOrUrl: string | MysqlClient, options: MysqlStoreOptions = {}): Store {
  checkNames('mysqlStore', options, OPTIONS)
  const create = checkFlag('mysqlStore: create', options.create, true)
  const { keep = '1h' } = options
  return new MysqlStore({
    database: databaseOf(poolOrUrl),
    names: namesFrom(options, 'mysqlStore'),
    keepMs: checkDuration(keep, { name: 'keep', min: MIN_KEEP_MS }),
    create,
  })
}

/** What a store with `create: false` expects, as SQL: for a migration, or for the one who has the rights. */
export function mysqlSchema(options: Pick<MysqlStoreOptions, 'database' | 'table'> = {}): string {
  return `${createTable(namesFrom(options, 'mysqlSchema'))};\n`
}

function databaseOf(given: unknown): Database {
  if (typeof given === 'string') {
    checkMysqlUrl(given, 'mysqlStore')
    return new OwnDatabase(given)
  }
  if (!isMysqlClient(given)) {
    throw invalid("give a pool or connection of mysql2 or mariadb, or a URL such as 'mysql://localhost/app'")
  }
  const client = promised(given)
  return new LendingDatabase(isMysqlPool(client) ? poolLender(client) : connectionLender(client))
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `mysqlStore: ${message}`)
}
