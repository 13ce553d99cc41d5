import { has } from '../databases/methods.ts'
import { isMongoClient, isMongoDb, type MongoClient, type MongoDb } from '../databases/mongo.ts'
import { isMysqlClient, type MysqlClient } from '../databases/mysql.ts'
import { isPgClient, isPgPool, type PgClient, type PgPool } from '../databases/pg.ts'
import { isPostgresJs, type PostgresJs } from '../databases/postgres-js.ts'
import { isSqliteDatabase, type SqliteDatabase } from '../databases/sqlite.ts'
import { checkFlag, checkNames } from '../option-check.ts'
import type {
  Fence,
  FenceDatabase,
  FenceDialect,
  FenceOptions,
  FenceQuery,
  MongoFenceOptions,
  SqliteFence,
} from './fence.ts'
import { lenderOf } from './lender.ts'
import { MongoGuard } from './mongo.ts'
import { MysqlFence } from './mysql.ts'
import { PostgresFence } from './postgres.ts'
import { mysqlSql, postgresSql, sqliteSql } from './sql.ts'
import { SqliteGuard } from './sqlite.ts'
import { invalid } from './verdict.ts'

const OPTIONS = ['table', 'schema', 'strict', 'create', 'dialect']
const MONGO_OPTIONS = ['collection', 'strict', 'create']

/**
 * A guard that keeps the highest token of each resource in a table of the database that it protects, so that
 * check and write stand or fall together. `db` is for what happens outside of your transactions: it creates
 * the table, and answers `highest` and `forget`.
 */
export function fence(db: SqliteDatabase, options?: FenceOptions): SqliteFence
export function fence(db: PgPool | PgClient | PostgresJs, options?: FenceOptions): Fence
export function fence(db: MysqlClient, options?: FenceOptions): Fence
export function fence(db: MongoDb | MongoClient, options?: MongoFenceOptions): Fence
export function fence(db: FenceQuery, options: FenceOptions & { readonly dialect: FenceDialect }): Fence
export function fence(db: FenceDatabase, options?: FenceOptions): Fence
export function fence(db: FenceDatabase, options: FenceOptions & MongoFenceOptions = {}): Fence {
  const inMongo = isMongoDb(db) || isMongoClient(db)
  checkNames('fence', options, inMongo ? MONGO_OPTIONS : OPTIONS)
  const manner = {
    strict: checkFlag('fence: strict', options.strict, false),
    create: checkFlag('fence: create', options.create, true),
  }
  if (inMongo) return new MongoGuard(isMongoDb(db) ? db : db.db(), checkCollection(options), manner)
  const { dialect } = options
  if (isSqliteDatabase(db)) {
    return new SqliteGuard(db, sqliteSql(checkDialect(options, 'sqlite')), manner)
  }
  // Before pg: what it has, a connection of MySQL has as well.
  if (isMysqlClient(db)) {
    return new MysqlFence(lenderOf(db), mysqlSql(checkDialect(options, 'mysql')), manner)
  }
  if (isPostgresJs(db) || isPgPool(db) || isPgClient(db)) {
    return new PostgresFence(lenderOf(db), postgresSql(checkDialect(options, 'postgres')), manner)
  }
  if (typeof db !== 'function' || has(db, 'raw')) {
    throw invalid(
      'give a pool or client of pg, an instance of postgres.js, a pool or connection of mysql2 or mariadb, a SQLite ' +
        'database, a Db of MongoDB, or a function (text, values) => rows with the option dialect',
    )
  }
  if (dialect === 'postgres') return new PostgresFence(lenderOf(db), postgresSql(options), manner)
  if (dialect === 'mysql') return new MysqlFence(lenderOf(db), mysqlSql(options), manner)
  if (dialect === 'sqlite') return new SqliteGuard(db, sqliteSql(options), manner)
  throw invalid("dialect: say whether the function asks 'postgres', 'mysql' or 'sqlite'")
}

function checkDialect(options: FenceOptions, actual: FenceDialect): FenceOptions {
  if (options.dialect === undefined || options.dialect === actual) return options
  throw invalid(`dialect: this database is ${actual}; leave the option out`)
}

function checkCollection({ collection = 'holdfast_fence' }: MongoFenceOptions): string {
  if (typeof collection === 'string' && /^(?!system\.)[A-Za-z_][\w.-]{0,119}$/.test(collection))
    return collection
  throw invalid('collection: use letters, digits, underscores, dots and dashes, at most 120')
}
