import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import { describe, expect, it } from 'vitest'
import type { MysqlConnection } from '../../src/databases/mysql.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { atEnd, failureOf, observe, poolOn, proxyTo, storeOn } from '../support/mysql-stage.ts'

const url = await freshMariadbDatabase()
const look = observe(url)

const drivers: readonly [string, (through: string) => Promise<MysqlConnection>][] = [
  ['mysql2', (through) => mysql.createConnection(through)],
  ['mariadb', (through) => mariadb.createConnection(through.replace('mysql:', 'mariadb:'))],
]

describe.each(drivers)(
  "on the user's own connection of %s that commits nothing by itself",
  (driver, connect) => {
    it('G1 a step that was given up does not roll back what the next one is told', async () => {
      const { proxy, url: through } = await proxyTo(url)
      const connection = await connect(through)
      atEnd(() => connection.destroy())
      await connection.query({ sql: 'set autocommit = 0' })
      const store = storeOn(connection)
      const [busy, wanted] = [askFor(`busy ${driver}`), askFor(`wanted ${driver}`)]
      for (const ask of [busy, wanted]) await grantOf(store, ask)
      await store.release([wanted])
      const other = await poolOn(url).getConnection()
      atEnd(() => other.destroy())
      await other.beginTransaction()
      await other.query('select * from holdfast_locks where `key` = ? for update', [busy.key])

      proxy.freeze()
      expect(await failureOf(store.release([busy]))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      const answer = acquire(store, wanted)
      proxy.thaw()

      expect(await answer).toMatchObject({ granted: true })
      const rows = await look('select owner from holdfast_locks where `key` = ?', [wanted.key])
      expect(rows.map(({ owner }) => String(owner))).toEqual([wanted.owner])
      await other.rollback()
      // Nor is a transaction left open on it.
      expect(await store.release([busy, wanted])).toMatchObject([{}, { released: true }])
    })
  },
)
