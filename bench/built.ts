import type * as Holdfast from '../src/index.ts'
import type * as Mongo from '../src/stores/mongo/index.ts'
import type * as Mysql from '../src/stores/mysql/index.ts'
import type * as Postgres from '../src/stores/postgres/index.ts'
import type * as Redis from '../src/stores/redis/index.ts'
import type * as Sqlite from '../src/stores/sqlite/index.ts'

/**
 * The package as it was built, under its own name. Not the source: tsx gives every function its name
 * anew each time it is made, which can cost more than what is measured. The names are variables, so
 * that types can be checked before anything was built.
 */
const core: string = 'holdfast'
const sqlite: string = 'holdfast/sqlite'
const postgres: string = 'holdfast/postgres'
const redis: string = 'holdfast/redis'
const mongo: string = 'holdfast/mongo'
const mysql: string = 'holdfast/mysql'

if (!new URL(import.meta.resolve(core)).pathname.endsWith('/dist/index.js')) {
  throw new Error(`these are not the built files: ${import.meta.resolve(core)}`)
}

export const holdfast: typeof Holdfast = await import(core)

export const importSqlite = (): Promise<typeof Sqlite> => import(sqlite)

export const importPostgres = (): Promise<typeof Postgres> => import(postgres)

export const importRedis = (): Promise<typeof Redis> => import(redis)

export const importMongo = (): Promise<typeof Mongo> => import(mongo)

export const importMysql = (): Promise<typeof Mysql> => import(mysql)
