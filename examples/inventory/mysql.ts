import mysql from 'mysql2/promise'
import { fence } from '../../src/fence/index.ts'
import type { Database, Row, Sql } from './database.ts'

const CONNECTIONS = 10

type Queryable = Pick<mysql.Pool, 'query'>

export async function openMysql(url: string): Promise<Database> {
  const pool = mysql.createPool({
    uri: url.replace(/^mariadb:/, 'mysql:'),
    connectionLimit: CONNECTIONS,
    // It would note the stack at each statement, for the case that it fails.
    trace: false,
  })
  const guard = fence(pool)
  return {
    kind: 'mysql',
    sql: sqlOn(pool),
    forUpdate: ' for update',
    connections: CONNECTIONS,
    guarded: (locks, keys, work) =>
      locks.transaction(keys, pool, (tx, lease) => work(sqlOn(tx as Queryable), lease), { fence: guard }),
    plain: async (work) => {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const result = await work(sqlOn(connection))
        await connection.commit()
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
    close: () => pool.end(),
  }
}

function sqlOn(on: Queryable): Sql {
  return async (text, values = []) => {
    const [rows] = await on.query(text, [...values])
    return Array.isArray(rows) ? (rows as Row[]) : []
  }
}
