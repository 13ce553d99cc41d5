import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import type { Store } from '../../src/store.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { endingWith } from './ending-with.ts'

export interface MysqlAddress {
  readonly url: string
  readonly driver: 'mysql2' | 'mariadb' | 'url'
  /** Taken for MySQL 8: the steps that it would get are run on MariaDB. */
  readonly asMysql?: boolean
}

/** A store on a pool of its own, which ends with the store: each stands for a process. */
export default function client(address: unknown): Store {
  const { url, driver, asMysql = false } = address as MysqlAddress
  if (driver === 'url') return mysqlStore(url)
  if (driver === 'mariadb') {
    const pool = mariadb.createPool(`${url.replace(/^mysql:/, 'mariadb:')}?connectionLimit=4`)
    return endingWith(mysqlStore(pool), () => pool.end())
  }
  const pool = mysql.createPool({ uri: url, connectionLimit: 4 })
  return endingWith(mysqlStore(asMysql ? disguised(pool) : pool), () => pool.end())
}

/** A pool whose server says that it is MySQL. */
export function disguised(pool: mysql.Pool): mysql.Pool {
  return rewriting(pool, (sql) => sql.replace('version()', `'8.4.6'`))
}

/** A pool that sends something else than it is told by holdfast. */
export function rewriting(pool: mysql.Pool, rewrite: (sql: string) => string): mysql.Pool {
  return through(pool, (send, sql) => send(rewrite(sql)))
}

/** A pool that tells what holdfast has sent, once it is answered. */
export function telling(pool: mysql.Pool, told: (sql: string) => unknown): mysql.Pool {
  return through(pool, async (send, sql) => {
    const answer = await send(sql)
    await told(sql)
    return answer
  })
}

type Send = (sql: string) => Promise<unknown>

/** What the user sends goes its own way. */
function through(pool: mysql.Pool, send: (by: Send, sql: string) => Promise<unknown>): mysql.Pool {
  return replacing(pool, 'getConnection', async () => {
    const connection = await pool.getConnection()
    const query = connection.query.bind(connection) as (query: unknown, values?: unknown) => Promise<unknown>
    return replacing(connection, 'query', ((given: string | { sql: string }, values?: unknown) =>
      typeof given === 'string'
        ? query(given, values)
        : send((sql) => query({ ...given, sql }, values), given.sql)) as never)
  })
}

function replacing<T extends object, K extends keyof T>(target: T, name: K, by: T[K]): T {
  return new Proxy(target, {
    get: (of, property) => {
      if (property === name) return by
      const value: unknown = Reflect.get(of, property)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
}
