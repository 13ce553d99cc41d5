import { isMongoClient, isMongoDb, type MongoClient, type MongoDb } from '../../databases/mongo.ts'
import { checkDuration, type Duration } from '../../duration.ts'
import { checkNames } from '../../option-check.ts'
import { LockError } from '../../errors.ts'
import type { Store } from '../../store.ts'
import { Database, type Source } from './database.ts'
import { OwnSource } from './own-client.ts'
import { MongoStore } from './store.ts'
import { checkMongoUrl, databaseIn } from './url.ts'

export type {
  MongoChangeStream,
  MongoClient,
  MongoCollection,
  MongoDb,
  MongoDocument,
  MongoSession,
} from '../../databases/mongo.ts'

export interface MongoStoreOptions {
  /** Default: that of the URL or the client, which is `test` if neither names one. Not with a `Db`. */
  readonly database?: string | undefined
  /** Default `holdfast_locks`. */
  readonly collection?: string | undefined
  /**
   * How long a record stays after its key came free; that is what keeps tokens rising. Default `1h`, at least `1m`, in
   * whole seconds. The same for all who share the collection.
   */
  readonly keep?: Duration | undefined
}

/** Shorter, and a slow command could outlast a record that it relies on. */
const MIN_KEEP_MS = 60_000

/**
 * Locks in a collection of MongoDB 4.4 or later. Takes a `Db` or a `MongoClient` of the driver, which stay yours to
 * close, or a URL, for which it opens a client of its own.
 */
export function mongoStore(
  dbOrClientOrUrl: string | MongoDb | MongoClient,
  options: MongoStoreOptions = {},
): Store {
  checkNames('mongoStore', options, OPTIONS)
  const { database, collection = 'holdfast_locks', keep = '1h' } = options
  if (database !== undefined && !isDatabaseName(database)) {
    throw invalid('database: give a name of 1 to 63 bytes without white space and any of /\\."$*<>:|?')
  }
  if (!isCollectionName(collection)) {
    throw invalid("collection: give a name of 1 to 200 bytes without $, that does not begin with 'system.'")
  }
  const keepMs = checkDuration(keep, { name: 'keep', min: MIN_KEEP_MS })
  const { source, name } = sourceOf(dbOrClientOrUrl, database)
  return new MongoStore({
    database: new Database(source),
    names: { database: name, collection },
    keepSeconds: Math.ceil(keepMs / 1000),
  })
}

const OPTIONS = ['database', 'collection', 'keep']

function sourceOf(given: unknown, database: string | undefined): { source: Source; name: string } {
  if (typeof given === 'string') {
    checkMongoUrl(given, 'mongoStore')
    const name = database ?? databaseIn(given)
    // Without the name, which may be of a password.
    if (!isDatabaseName(name)) throw invalid('no database can be called what the URL has after the host')
    return { source: new OwnSource(given, name), name }
  }
  if (isMongoDb(given) && database !== undefined) {
    throw invalid(`database: the Db given is of '${given.databaseName}'; give the client instead`)
  }
  if (!isMongoDb(given) && !isMongoClient(given)) {
    throw invalid("give a Db or a MongoClient of the driver, or a URL such as 'mongodb://localhost/app'")
  }
  const db = isMongoDb(given) ? given : given.db(database)
  return {
    source: { db: () => Promise.resolve(db), close: () => Promise.resolve() },
    name: db.databaseName,
  }
}

function isDatabaseName(name: unknown): boolean {
  return typeof name === 'string' && /^[^\s/\\."$*<>:|?\0]+$/.test(name) && Buffer.byteLength(name) <= 63
}

function isCollectionName(name: unknown): boolean {
  if (typeof name !== 'string' || Buffer.byteLength(name) > 200) return false
  return /^[^$\0]+$/.test(name) && !name.startsWith('system.') && !/^\.|\.$|\.\./.test(name)
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `mongoStore: ${message}`)
}
