import { describe, expect, it } from 'vitest'
import type { Ask } from '../../src/store.ts'
import { mysqlSchema, mysqlStore } from '../../src/stores/mysql/index.ts'
import { cleaning } from '../../src/stores/mysql/cleaning.ts'
import { Statements } from '../../src/stores/mysql/statements.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { disguised, rewriting } from '../support/mysql-client.ts'
import {
  failureOf,
  locksOn,
  mariadbPoolOn,
  observe,
  poolOn,
  someoneWaits,
  storeOn,
} from '../support/mysql-stage.ts'

const url = await freshMariadbDatabase()
const look = observe(url)
const HOUR = 3_600_000_000
await storeOn(url).open()

/** A transaction of somebody on the table of the locks. */
async function transaction(): Promise<{
  run(sql: string): Promise<unknown>
  end(how: string): Promise<void>
}> {
  const connection = await poolOn(url).getConnection()
  await connection.beginTransaction()
  return {
    run: (sql) => connection.query(sql),
    end: async (how) => {
      await connection.query(how)
      connection.release()
    },
  }
}

describe('two steps on one key at the same time', () => {
  it('G1 G11 an ask that had to wait is judged by the clock after the wait, not before it', async () => {
    const store = storeOn(url)
    const held = askFor('late', { leaseMs: 60_000 })
    await grantOf(store, held)
    const somebody = await transaction()
    await somebody.run(
      `update holdfast_locks set expires_at = floor(unix_timestamp(sysdate(6)) * 1000000) + 400000 where \`key\` = 'late'`,
    )
    const ask = store.acquire([askFor('late')])
    await someoneWaits(look)
    await new Promise((resolve) => setTimeout(resolve, 400))
    await somebody.end('commit')
    expect(await ask).toMatchObject([{ granted: true, previous: held.holder }])
  })

  it('G3 an ask whose number was drawn before it had to wait still gets a higher one', async () => {
    const store = storeOn(url)
    const ask = askFor('drawn')
    const grant = await grantOf(store, ask)
    const somebody = await transaction()
    await somebody.run(`delete from holdfast_locks where \`key\` = 'drawn'`)
    const waiting = grantOf(store, askFor('drawn'))
    await someoneWaits(look)
    await somebody.run(
      `insert into holdfast_locks (\`key\`, grant_number, holder, granted_at, lease_ms, expires_at, wanted, decided_at, verdict, freed_wanted)
        values ('drawn', ${grant + 60_000_000}, '{}', 0, 0, 0, 0, 0, 0, 0)`,
    )
    await somebody.end('commit')
    expect(await waiting).toBe(grant + 60_000_001)
  })

  it("batches in opposite order never stand in each other's way, and each key is granted once", async () => {
    const keys = Array.from({ length: 60 }, (_, i) => `row ${i}`)
    const stores = [1, 2, 3, 4].map(() => storeOn(poolOn(url, { connectionLimit: 2 })))
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        stores.map(async (store, i) => {
          const asks = keys.map((key) => askFor(key))
          const answer = await store.acquire(i % 2 === 0 ? asks : asks.toReversed())
          const granted = answer.filter((one) => 'granted' in one && one.granted).length
          return { store, asks, granted }
        }),
      )
      expect(answers.reduce((sum, { granted }) => sum + granted, 0)).toBe(keys.length)
      for (const { store, asks } of answers) await store.release(asks)
    }
  })
})

describe('a batch', () => {
  it('locks its rows in the order of their keys, whatever order it came in', async () => {
    const store = storeOn(url)
    const [a, b] = [askFor('order a'), askFor('order b')]
    await store.acquire([b, a])
    const somebody = await transaction()
    await somebody.run(`update holdfast_locks set wanted = 0 where \`key\` = 'order a'`)
    const renewal = store.renew([b, a])
    await someoneWaits(look)
    // It has not come to this one yet.
    await somebody.run(`select 1 from holdfast_locks where \`key\` = 'order b' for update nowait`)
    await somebody.end('commit')
    expect(await renewal).toMatchObject([{ renewed: true }, { renewed: true }])
  })
})

describe('where a change returns no rows, as in MySQL', () => {
  it('G5 of many who release the same lease at once exactly one is told so, and of many who evict', async () => {
    const stores = [1, 2, 3].map(() => storeOn(disguised(poolOn(url, { connectionLimit: 2 }))))
    const [first] = stores
    for (let round = 0; round < 10; round += 1) {
      const asks = Array.from({ length: 10 }, (_, i) => askFor(`twice ${i}`))
      await first?.acquire(asks)
      const answers = await Promise.all(
        stores.map((store, i) => store.release(i % 2 === 0 ? asks : asks.toReversed())),
      )
      const told = answers.flat().filter((answer) => 'released' in answer && answer.released)
      expect(told).toHaveLength(asks.length)
      const { key } = asks[0] as Ask
      await first?.acquire([askFor(key)])
      const evicted = await Promise.all(stores.map((store) => store.evict(key)))
      expect(evicted.filter((record) => record !== null)).toHaveLength(1)
    }
  })
})

describe('behind a proxy that sends plain reads to a replica that lags', () => {
  it('G2 a lease that is lost is not renewed by what the replica still has', async () => {
    const holder = storeOn(url, { table: 'split' })
    const ask = askFor('split')
    await grantOf(holder, ask)
    await look('create table split_replica as select * from split')
    const pool = rewriting(disguised(poolOn(url)), (sql) =>
      /^select\b(?!.* for update$)/s.test(sql) ? sql.replaceAll('`split`', 'split_replica') : sql,
    )
    const split = storeOn(pool, { table: 'split' })
    expect(await split.renew([ask])).toMatchObject([{ renewed: true }])
    await holder.evict(ask.key)
    expect(await split.renew([ask])).toEqual([{ renewed: false }])
    const next = askFor(ask.key)
    await grantOf(holder, next)
    expect(await split.acquire([ask])).toMatchObject([{ granted: false }])
    expect(await split.release([ask])).toEqual([{ released: false, wanted: false }])
  })
})

describe('a row that somebody has locked', () => {
  it('1213: a step that is the victim of a deadlock is taken again, and nobody knows', async () => {
    const store = storeOn(url)
    const asks: Ask[] = ['dead a', 'dead b'].map((key) => askFor(key))
    await store.acquire(asks)
    await look('create table if not exists heavy (n int)')
    const somebody = await transaction()
    // The heavier one survives.
    await somebody.run(`insert into heavy values ${Array(100).fill('(1)').join()}`)
    await somebody.run(`update holdfast_locks set wanted = 0 where \`key\` = 'dead b'`)
    const renewal = store.renew(asks)
    await someoneWaits(look)
    await somebody.run(`update holdfast_locks set wanted = 0 where \`key\` = 'dead a'`)
    await somebody.end('rollback')
    expect(await renewal).toMatchObject([{ renewed: true }, { renewed: true }])
    const [status] = await look(`show global status like 'Innodb_deadlocks'`)
    expect(Number(status?.['Value'])).toBeGreaterThan(0)
  })

  it.each(['mysql2', 'mariadb'])(
    '1205 through %s: a step fails in time and says why, others go on, and it works later',
    async (driver) => {
      const store = storeOn(driver === 'mysql2' ? poolOn(url) : mariadbPoolOn(url))
      await grantOf(store, askFor('locked', { leaseMs: 1 }))
      const somebody = await transaction()
      await somebody.run(`select 1 from holdfast_locks where \`key\` = 'locked' for update`)
      const start = performance.now()
      const failure = failureOf(store.acquire([askFor('locked')]))
      await grantOf(store, askFor(`not locked ${driver}`))
      const { code, message } = await failure
      expect({ code, message }).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: /a row stays locked|did not answer/,
      })
      // The statement would fill the log.
      expect(message.length).toBeLessThan(400)
      expect(performance.now() - start).toBeLessThan(4500)
      await somebody.end('rollback')
      await grantOf(store, askFor('locked', { leaseMs: 1 }))
    },
  )
})

describe('connections', () => {
  it('G7 that are killed: locks go on with others', async () => {
    const pool = poolOn(url, { connectionLimit: 3 })
    const locks = locksOn(storeOn(pool), { lease: '3s' })
    const lease = await locks.acquire('killed')
    for (let i = 0; i < 3; i += 1) {
      const rows = await look(
        `select id from information_schema.processlist where db = database() and id <> connection_id()`,
      )
      for (const { id } of rows) await look(`kill ${String(id)}`).catch(() => undefined)
      await locks.using('other', { wait: '10s' }, () => undefined)
    }
    expect(lease.held).toBe(true)
    await lease.extend()
    expect(await lease.release()).toBe(true)
  })

  it('G7 that are all in use by the user: a call fails in time and says why, and works when they are over', async () => {
    const pool = poolOn(url, { connectionLimit: 1 })
    const store = storeOn(pool)
    await store.open()
    const connection = await pool.getConnection()
    expect(await failureOf(store.acquire([askFor('used up')]))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('no connection of the pool came free'),
    })
    connection.release()
    await grantOf(store, askFor('used up'))
  })
})

describe('the table', () => {
  it('is made once by 20 who open at the same time', async () => {
    const stores = Array.from({ length: 20 }, () =>
      storeOn(poolOn(url, { connectionLimit: 1 }), { table: 'raced' }),
    )
    await Promise.all(stores.map((store) => store.open()))
    const answers = await Promise.all(stores.map((store) => acquire(store, askFor('first'))))
    expect(answers.filter(({ granted }) => granted)).toHaveLength(1)
  })

  it('that is dropped is made again by the next call, and tokens rise', async () => {
    const store = storeOn(url, { table: 'dropped' })
    const grant = await grantOf(store, askFor('key'))
    await look('drop table dropped')
    expect(await grantOf(store, askFor('key'))).toBeGreaterThan(grant)
  })

  it('with create: false is asked for with its SQL, and used once it is there', async () => {
    const store = storeOn(url, { table: 'asked_for', create: false })
    const sql = mysqlSchema({ table: 'asked_for' })
    expect((await failureOf(store.open())).message).toContain(sql.trim())
    await look(sql)
    await grantOf(store, askFor('key'))
  })

  it.each([
    ['another engine', 'create table odd_1 like holdfast_locks; alter table odd_1 engine = MyISAM', 'InnoDB'],
    [
      'other columns',
      'create table odd_2 (`key` varbinary(512) primary key)',
      'column owner should be varbinary',
    ],
  ])('with %s is refused for good', async (_what, sql, says) => {
    for (const statement of sql.split('; ')) await look(statement)
    const table = /odd_\d/.exec(sql)?.[0] ?? ''
    expect(await failureOf(storeOn(url, { table }).open())).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(says),
    })
  })

  it('of another database, and a user without rights: it says which', async () => {
    const { pathname } = new URL(url)
    await look(`create or replace user 'poor'@'%' identified by 'secret'`)
    await look(`grant select on ${pathname.slice(1)}.* to 'poor'@'%'`)
    const poor = new URL(url)
    poor.username = 'poor'
    poor.password = 'secret'
    const failure = await failureOf(storeOn(poor.href).acquire([askFor('poor')]))
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', message: /lacks a right|may not use/ })
    poor.password = 'wrong'
    const wrong = await failureOf(mysqlStore(poor.href).open())
    expect(wrong).toMatchObject({ code: 'STORE_UNAVAILABLE', message: /does not let this user in/ })
    expect(wrong.message).not.toContain('wrong')
    await look(`drop user 'poor'@'%'`)
  })
})

describe('records that nobody needs any more', () => {
  it('G3 are removed in small steps, by several at once, and nothing else; tokens rise after it', async () => {
    const table = 'swept'
    const store = storeOn(url, { table })
    const old = Array.from({ length: 30 }, (_, i) => askFor(`old ${i}`))
    const rest = ['ahead', 'fresh', 'held', 'recent'].map((key) => askFor(key, { leaseMs: 600_000 }))
    const grants = (await store.acquire([...old, ...rest])) as readonly { grant: number }[]
    await store.release([...old, ...rest.filter(({ key }) => key !== 'held')])
    const age = (keys: string, hours: number): Promise<unknown> =>
      look(
        `update ${table} set expires_at = expires_at - ${hours * HOUR}, grant_number = grant_number - ${hours * HOUR} where ${keys}`,
      )
    await age("`key` like 'old %' or `key` = 'ahead'", 3)
    await age("`key` = 'recent'", 0.9)
    await look(`update ${table} set grant_number = grant_number + ${6 * HOUR} where \`key\` = 'ahead'`)
    const run = async (sql: string): Promise<string[]> => {
      const rows = await look(sql)
      return Array.isArray(rows) ? rows.map(({ answer }) => String(answer)) : []
    }
    const step = cleaning(new Statements({ database: undefined, table }), HOUR / 1000, run)
    const walk = async (): Promise<void> => {
      for (let after: string | null = ''; after !== null;) after = await step(after, 7)
    }
    await Promise.all([walk(), walk(), walk()])
    const left = await look(`select cast(\`key\` as char) as k from ${table} order by \`key\``)
    expect(left.map(({ k }) => k)).toEqual(['ahead', 'fresh', 'held', 'recent'])
    for (const [i, { key }] of old.entries()) {
      expect(await grantOf(store, askFor(key))).toBeGreaterThan(grants[i]?.grant ?? Infinity)
    }
  })
})
