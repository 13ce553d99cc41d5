import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import mysqlOfOld from 'mysql2-3.9/promise'
import type { Store } from '../../src/store.ts'
import { mysqlStore, type MysqlStoreOptions } from '../../src/stores/mysql/index.ts'
import { disguised } from './mysql-client.ts'
import { atEnd, atLast } from './stage.ts'
import type { Driver, Opened } from './transaction-drivers.ts'

export { atEnd, failureOf, locksOn, proxyTo } from './stage.ts'

export type Run = (sql: string, values?: string[]) => Promise<Record<string, unknown>[]>

/** For a whole file: looks at the database, and changes it, beside what is tested. Goes on after a restart. */
export function observe(url: string): Run {
  const pool = mysql.createPool({ uri: url, connectionLimit: 4 })
  atLast(() => pool.end())
  return async (sql, values) => (await pool.query(sql, values))[0] as Record<string, unknown>[]
}

/** Waits until a transaction of this database waits for a row. The server looks anew only if nobody has asked it for 100 ms. */
export async function someoneWaits(look: Run): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 110))
    const rows = await look(`select 1 from information_schema.innodb_trx
      join information_schema.processlist on id = trx_mysql_thread_id
      where trx_state = 'LOCK WAIT' and db = database()`)
    if (rows.length > 0) return
  }
  throw new Error('nobody waits for a row')
}

/** A pool as a user has it, ended after the test. `settings` are those of its sessions. */
export function poolOn(url: string, options: mysql.PoolOptions = {}, settings: string[] = []): mysql.Pool {
  const pool = mysql.createPool({ uri: url, ...options })
  pool.on('connection', (connection) => {
    const { query } = connection as unknown as { query(sql: string): void }
    for (const setting of settings) query.call(connection, `set session ${setting}`)
  })
  atEnd(() => pool.end())
  return pool
}

export function mariadbPoolOn(url: string, options: object = {}, settings: string[] = []): mariadb.Pool {
  const { hostname, port, username, pathname } = new URL(url)
  const pool = mariadb.createPool({
    host: hostname,
    port: Number(port),
    user: username,
    database: pathname.slice(1),
    initSql: settings.map((setting) => `set session ${setting}`),
    ...options,
  })
  atEnd(() => pool.end())
  return pool
}

/** Closed after the test. */
export function storeOn(db: Parameters<typeof mysqlStore>[0], options?: MysqlStoreOptions): Store {
  const store = mysqlStore(db, options)
  atEnd(() => store.close())
  return store
}

function mysql2Driver(name: string, openPool: (url: string, connections: number) => mysql.Pool): Driver {
  return {
    name,
    pooled: true,
    async open(url, connections = 10) {
      const pool = openPool(url, connections)
      return {
        db: pool,
        transaction: (locks, key, body, options) =>
          locks.transaction(
            key,
            pool,
            (tx, lease) =>
              body({ run: async (text) => (await tx.query(text))[0] as unknown as unknown[] }, lease),
            options,
          ),
        run: async (text) => (await pool.query(text))[0] as unknown[],
        end: async () => undefined,
      } satisfies Opened
    },
  }
}

/** Everything that a transaction can begin on by itself. */
export const transactionDrivers: readonly Driver[] = [
  mysql2Driver('a pool of mysql2', (url, connectionLimit) => poolOn(url, { connectionLimit })),
  mysql2Driver('a pool of mysql2 3.9', (url, connectionLimit) => {
    const pool = mysqlOfOld.createPool({ uri: url, connectionLimit })
    atEnd(() => pool.end())
    return pool as unknown as mysql.Pool
  }),
  mysql2Driver('a pool of mysql2 on what says to be MySQL', (url, connectionLimit) =>
    disguised(poolOn(url, { connectionLimit })),
  ),
  {
    name: 'a connection of mysql2 with callbacks',
    pooled: false,
    async open(url) {
      const { createConnection } = await import('mysql2')
      const connection = createConnection(url)
      atEnd(() => connection.destroy())
      return {
        db: connection,
        transaction: (locks, key, body, options) =>
          locks.transaction(
            key,
            connection,
            (tx, lease) =>
              body({ run: async (text) => (await tx.query(text))[0] as unknown as unknown[] }, lease),
            options,
          ),
        run: async (text) => (await connection.promise().query(text))[0] as unknown[],
        end: async () => undefined,
      }
    },
  },
  {
    name: 'a pool of mariadb',
    pooled: true,
    async open(url, connections = 10) {
      const pool = mariadbPoolOn(url, { connectionLimit: connections })
      return {
        db: pool,
        transaction: (locks, key, body, options) =>
          locks.transaction(
            key,
            pool,
            (tx, lease) => body({ run: (text) => tx.query<unknown[]>(text) }, lease),
            options,
          ),
        run: (text) => pool.query<unknown[]>(text),
        end: async () => undefined,
      }
    },
  },
]
