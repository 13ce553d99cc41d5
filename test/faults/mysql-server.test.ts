import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { startMariadb } from '../servers/mariadb.ts'
import { mysqlStatement } from '../servers/mysql-statement.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { atEnd, atLast, failureOf, failureWithin, locksOn, proxyTo, until } from '../support/stage.ts'
import { mariadbPoolOn, poolOn, storeOn } from '../support/mysql-stage.ts'
import { Told } from '../support/told.ts'

const server = await startMariadb({
  // The packet: the smallest that is promised to be enough.
  settings: { max_connections: 30, innodb_rollback_on_timeout: 1, max_allowed_packet: '1M' },
})
atLast(() => server.stop())
await mysqlStatement(server.url, 'create database app')
const url = server.url.replace(/mysql$/, 'app')

describe.each(['restart', 'kill -9'])('MariaDB after %s', (how) => {
  it('G3 G7 still has what it granted: leases go on, nobody else gets in, and tokens rise', async () => {
    const [locks, others] = [locksOn(storeOn(url), { lease: '20s' }), locksOn(storeOn(url))]
    const key = `kept after ${how}`
    const lease = await locks.acquire(key)
    if (how === 'restart') await server.restart()
    else {
      await server.kill()
      await server.start()
    }
    await until('an answer', () => others.inspect(key).catch(() => null))
    expect(await others.tryAcquire(key)).toBeNull()
    await lease.extend()
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe(true)
    expect((await others.acquire(key)).token).toBeGreaterThan(lease.token)
  })
})

describe.each(['a URL', 'mysql2', 'mariadb'])('through %s, MariaDB that stands still', (what) => {
  it('G2 the signal comes before the lease ends, G7 calls fail in time, and work once it goes on', async () => {
    const db = what === 'a URL' ? url : what === 'mysql2' ? poolOn(url) : mariadbPoolOn(url)
    const locks = locksOn(storeOn(db), { lease: '4s' })
    const key = `still for ${what}`
    const lease = await locks.acquire(key)
    const told = new Told(lease, 4000)
    told.cutOff()
    await server.pause()
    atEnd(() => server.resume())
    expect(locks.stats().renewals).toBe(0)
    const call = failureWithin(4500, locks.acquire('other', { wait: '500ms' }))
    expect(await call).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
    server.resume()
    const next = await locks.acquire(key, { wait: '20s' })
    expect(next.token).toBeGreaterThan(lease.token)
  })
})

it.each(['mysql2', 'mariadb'])(
  'G7 %s gives a dead connection up without asking the server to kill it',
  async (what) => {
    const { proxy, url: through } = await proxyTo(url)
    const pool = what === 'mysql2' ? poolOn(through) : mariadbPoolOn(through, { connectionLimit: 1 })
    const store = storeOn(pool)
    await grantOf(store, askFor(`given up by ${what}`))
    const kills = async (): Promise<unknown> =>
      mysqlStatement(server.url, `show global status like 'Com_kill'`)
    const before = await kills()
    proxy.strand()
    expect(await failureOf(store.acquire([askFor('dead')]))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await grantOf(store, askFor(`again by ${what}`))
    expect(await kills()).toEqual(before)
  },
)

it('1205 where it rolls back all of a transaction: the function that goes on stores nothing', async () => {
  await mysqlStatement(url, 'create table t (n int primary key)')
  await mysqlStatement(url, 'insert into t values (1)')
  // Before the limit of the transaction, which ends the statement alone.
  await mysqlStatement(server.url, 'set global innodb_lock_wait_timeout = 1')
  atEnd(() => mysqlStatement(server.url, 'set global innodb_lock_wait_timeout = default'))
  const pool = poolOn(url)
  const other = await pool.getConnection()
  await other.beginTransaction()
  await other.query('select * from t for update')
  const call = createLocks(memoryStore()).transaction(
    'key',
    pool,
    async (tx) => {
      await tx.query('update t set n = 2').catch(() => undefined)
      await tx.query('insert into t values (3)').catch(() => undefined)
    },
    { lease: 4500 },
  )
  await expect(call).rejects.toMatchObject({ errno: 1205 })
  await other.rollback()
  other.release()
  expect(await mysqlStatement(url, 'select n from t')).toEqual([{ n: 1 }])
})

it('1290: a server that is read-only is unavailable and it says why, until it is not', async () => {
  await mysqlStatement(server.url, `create or replace user app@'%'`)
  await mysqlStatement(server.url, `grant all on app.* to app@'%'`)
  const store = storeOn(url.replace('root@', 'app@'))
  await grantOf(store, askFor('before'))
  await mysqlStatement(server.url, 'set global read_only = 1')
  expect(await failureOf(store.acquire([askFor('key')]))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('the server is read-only'),
  })
  await mysqlStatement(server.url, 'set global read_only = 0')
  await grantOf(store, askFor('key'))
})

it('1040: a server without a connection left is unavailable and it says why, until there is one', async () => {
  const hoard = poolOn(url, { connectionLimit: 40 })
  const taken = await Promise.allSettled(Array.from({ length: 40 }, () => hoard.getConnection()))
  // One more is kept for those who may mend it, such as root.
  const store = storeOn(url.replace('root@', 'app@'))
  const failure = await failureOf(store.acquire([askFor('crowd')]))
  expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', message: /no connection left/ })
  for (const one of taken) if (one.status === 'fulfilled') one.value.destroy()
  await until('a connection', () =>
    grantOf(store, askFor('crowd', { leaseMs: 1 })).then(
      () => true,
      () => false,
    ),
  )
})

it.each(['mysql2', 'mariadb'])(
  'through %s, no step is larger than what the server takes, whatever keys and contexts it has',
  async (what) => {
    const store = storeOn(what === 'mysql2' ? poolOn(url) : mariadbPoolOn(url))
    // A character that JSON writes as six, and hexadecimal digits as twelve.
    const holder = { service: 'test', instance: 'one', context: '\u0001'.repeat(4096) }
    const asks = Array.from({ length: 1000 }, (_, i) => askFor(`${what} ${i} `.padEnd(512, 'k'), { holder }))
    const freed = new Set<string>()
    const watch = store.watch?.((key) => freed.add(key))
    try {
      expect(await store.acquire(asks)).toEqual(asks.map(() => expect.objectContaining({ granted: true })))
      for (const { key } of asks) watch?.add(key)
      expect(await store.renew(asks)).toEqual(asks.map(() => expect.objectContaining({ renewed: true })))
      expect(await store.release(asks)).toEqual(asks.map(() => ({ released: true, wanted: false })))
      await until('word of each', () => freed.size === asks.length)
    } finally {
      await watch?.close()
    }
  },
)
