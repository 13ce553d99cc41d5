import { Readable } from 'node:stream'
import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import { beforeEach, describe, expect, it } from 'vitest'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { atEnd, observe, someoneWaits } from '../support/mysql-stage.ts'
import { memoryLocks } from '../support/transaction-stage.ts'

const url = await freshMariadbDatabase()
const look = observe(url)
await look('create table t (n int not null)')

beforeEach(() => look('delete from t'))

async function connect(): Promise<mysql.Connection> {
  const connection = await mysql.createConnection(url)
  atEnd(() => connection.destroy())
  return connection
}

/** What is stored, as the connection of the transaction sees it: that is as good as before. */
const seenBy = async (connection: mysql.Connection): Promise<unknown> =>
  (await connection.query('select n from t'))[0]

describe("a transaction on the user's own connection, which is not lost", () => {
  it.each(['ENOENT', 'ECONNRESET'])(
    "when a statement cannot read what it loads: %s, as it is, and the connection is the user's again",
    async (code) => {
      const connection = await connect()
      const own = Object.assign(new Error('own'), { code })
      const infileStreamFactory = (): Readable =>
        new Readable({
          read() {
            this.destroy(own)
          },
        })
      const call = memoryLocks().transaction('key', connection, async (tx) => {
        await tx.query('insert into t values (1)')
        await tx.query({
          sql: "load data local infile 'x' into table t",
          infileStreamFactory,
        } as mysql.QueryOptions)
      })
      await expect(call).rejects.toBe(own)
      expect(await seenBy(connection)).toEqual([])
    },
  )

  it('when mysql2 stops waiting for a statement: its error, rolled back once the statement has ended', async () => {
    const connection = await connect()
    const call = memoryLocks().transaction('key', connection, async (tx) => {
      await tx.query('insert into t values (1)')
      await tx.query({ sql: 'insert into t select sleep(0.5)', timeout: 50 })
    })
    await expect(call).rejects.toMatchObject({ code: 'PROTOCOL_SEQUENCE_TIMEOUT' })
    expect(await seenBy(connection)).toEqual([])
  })

  it('when mysql2 no longer hears that all was rolled back (1213): nothing that comes next is stored by itself', async () => {
    await look('create table d (id int primary key, n int)')
    await look('insert into d values (1, 0), (2, 0)')
    const [connection, other] = [await connect(), await connect()]
    await other.beginTransaction()
    // The heavier one survives.
    await other.query('insert into t values (7), (8), (9), (10), (11)')
    await other.query('update d set n = 1 where id = 1')
    const call = memoryLocks().transaction('key', connection, async (tx) => {
      await tx.query('update d set n = 2 where id = 2')
      await tx.query({ sql: 'update d set n = 2 where id = 1', timeout: 50 }).catch(() => undefined)
      await someoneWaits(look)
      await other.query('update d set n = 1 where id = 2')
      await tx.query('insert into t values (1)').catch(() => undefined)
    })
    await expect(call).rejects.toMatchObject({ code: 'PROTOCOL_SEQUENCE_TIMEOUT' })
    await other.rollback()
    expect(await seenBy(connection)).toEqual([])
  })

  it.each([
    [1969, 'a statement that mariadb gives up after its limit'],
    [1317, 'KILL QUERY'],
  ])('when mariadb calls the end of a statement fatal: %d, %s, as it is', async (errno) => {
    const connection = await mariadb.createConnection(url.replace('mysql:', 'mariadb:'))
    atEnd(() => connection.destroy())
    const call = memoryLocks().transaction('key', connection, async (tx) => {
      await tx.query('insert into t values (1)')
      if (errno === 1969) return tx.query('set statement max_statement_time = 0.1 for select sleep(9)')
      const sleeping = tx.query('select sleep(9)')
      await killQueryOf(String(connection.threadId))
      return sleeping
    })
    await expect(call).rejects.toMatchObject({ errno })
    expect(await connection.query('select n from t')).toEqual([])
  })
})

/** What has not begun cannot be ended. */
async function killQueryOf(id: string): Promise<void> {
  const isAsleep = `select 1 from information_schema.processlist where id = ${id} and state = 'User sleep'`
  await expect.poll(() => look(isAsleep)).toHaveLength(1)
  await look(`kill query ${id}`)
}
