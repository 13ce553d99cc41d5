import { describe, expect, it } from 'vitest'
import { atOnce, type SqliteDatabase } from '../../src/databases/sqlite.ts'
import { fence } from '../../src/fence/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { databaseAt, freshPath } from '../support/sqlite-stage.ts'
import { gate, track, world, type World } from './support/world.ts'

function stage(): World & { path: string; db: SqliteDatabase; rows: () => number[] } {
  const path = freshPath()
  const db = databaseAt(path)
  db.exec('pragma journal_mode = wal; create table t (n integer not null)')
  const reader = databaseAt(path)
  const rows = (): number[] =>
    (reader.prepare('select n from t order by n').all() as { n: number }[]).map(({ n }) => n)
  return { ...world(), path, db, rows }
}

const insert = (db: SqliteDatabase, n: number): void => db.exec(`insert into t values (${n})`) as void

describe('a transaction in SQLite', () => {
  it('is stored when the function has ended, with the token of the lease', async () => {
    const { locks, store, db, rows } = stage()
    const token = await locks.transaction('key', db, async (tx, lease) => {
      insert(tx, 1)
      await Promise.resolve()
      expect(rows()).toEqual([])
      expect(await store.heldKeys()).toEqual(['key'])
      return lease.token
    })
    expect(rows()).toEqual([1])
    expect(await fence(db).highest('key')).toBe(token)
    expect(await store.heldKeys()).toEqual([])
  })

  it("is rolled back when the function fails, with the function's error", async () => {
    const { locks, store, db, rows } = stage()
    const own = new Error('own')
    const call = locks.transaction('key', db, (tx) => {
      insert(tx, 1)
      throw own
    })
    await expect(call).rejects.toBe(own)
    expect(rows()).toEqual([])
    expect(await fence(db).highest('key')).toBeNull()
    expect(await store.heldKeys()).toEqual([])
    await locks.transaction('key', db, (tx) => insert(tx, 2))
    expect(rows()).toEqual([2])
  })

  it('waits for a file that is busy without holding up the thread, and leaves the time-out as it was', async () => {
    const { locks, path, db, rows, time } = stage()
    await fence(db).open()
    db.exec('pragma busy_timeout = 5000')
    const other = databaseAt(path)
    other.exec('begin immediate')
    const start = performance.now()
    const call = track(locks.transaction('key', db, (tx) => insert(tx, 1)))
    const guard = track(fence(db).forget('nothing'))
    await time.advance(100)
    expect([call.settled, guard.settled]).toEqual([false, false])
    other.exec('commit')
    while (!guard.settled || !call.settled) await time.advance(100)
    expect(performance.now() - start).toBeLessThan(2000)
    expect([call.error, guard.value, rows()]).toEqual([undefined, false, [1]])
    expect(db.prepare('pragma busy_timeout').get()).toMatchObject({ timeout: 5000 })
  })

  it('fails with what went wrong, also if its database was closed meanwhile', () => {
    const { db } = stage()
    db.exec('pragma busy_timeout = 5000')
    const close = (): never => {
      db.close()
      throw new Error('own')
    }
    expect(() => atOnce(db, close)).toThrow('own')
  })

  it('is refused if the resource has seen a higher token; the function is not called', async () => {
    const { locks, store, db, rows } = stage()
    db.exec('begin')
    fence(db).checkSync(db, 'key', 2n ** 62n)
    db.exec('commit')
    const call = locks.transaction('key', db, (tx) => insert(tx, 1))
    await expect(call).rejects.toMatchObject({ code: 'STALE_TOKEN', key: 'key' })
    expect(rows()).toEqual([])
    expect(await store.heldKeys()).toEqual([])
    await locks.transaction('key', db, (tx) => insert(tx, 2), { fence: false })
    expect(rows()).toEqual([2])
  })

  it.each(['commit', 'rollback'])('that its function ends by %s is no success', async (end) => {
    const { locks, store, db } = stage()
    const call = locks.transaction('key', db, (tx) => {
      insert(tx, 1)
      tx.exec(end)
    })
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      key: 'key',
      message: expect.stringMatching(/no longer there.*Return to commit, throw to roll back/),
    })
    expect(await store.heldKeys()).toEqual([])
    await locks.transaction('key', db, (tx) => insert(tx, 2))
  })

  it('takes a guard of the user', async () => {
    const { locks, db } = stage()
    const guard = fence(db, { table: 'theirs' })
    const token = await locks.transaction('key', db, (_tx, lease) => lease.token, { fence: guard })
    expect(await guard.highest('key')).toBe(token)
    expect(await fence(db).highest('key')).toBeNull()
  })

  it('is rolled back if the lease is lost before the commit: LOCK_LOST', async () => {
    const { locks, time, db, rows } = stage()
    const call = locks.transaction('key', db, (tx) => {
      insert(tx, 1)
      time.block(31_000)
    })
    await expect(call).rejects.toMatchObject({
      code: 'LOCK_LOST',
      key: 'key',
      message: expect.stringMatching(/rolled back/),
    })
    expect(rows()).toEqual([])
  })

  it('is rolled back if the function has released the lease itself', async () => {
    const { locks, db, rows } = stage()
    const call = locks.transaction('key', db, async (tx, lease) => {
      insert(tx, 1)
      await lease.release()
    })
    await expect(call).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
    expect(rows()).toEqual([])
  })

  it("that the database refuses to commit rejects with the database's own error", async () => {
    const { locks, db, rows } = stage()
    db.exec('pragma foreign_keys = on; create table parent (id integer primary key)')
    db.exec('create table child (id references parent (id) deferrable initially deferred)')
    const call = locks.transaction('key', db, (tx) => {
      insert(tx, 1)
      tx.exec('insert into child values (7)')
    })
    await expect(call).rejects.toThrow(/FOREIGN KEY constraint failed/)
    await locks.transaction('key', db, (tx) => insert(tx, 2))
    expect(rows()).toEqual([2])
  })
})

describe('one connection', () => {
  it('has one transaction at a time: others of this process wait for their turn', async () => {
    const { locks, db, rows, time } = stage()
    const { promise, open } = gate()
    const log: string[] = []
    const slow = locks.transaction('a', db, async (tx) => {
      log.push('first')
      insert(tx, 1)
      await promise
      throw new Error('undone')
    })
    const first = track(slow)
    await time.settle()
    const waiting = [2, 3].map((n) =>
      locks.transaction(`b${n}`, db, (tx) => {
        log.push(`then ${n}`)
        insert(tx, n)
      }),
    )
    await time.settle()
    expect(log).toEqual(['first'])
    open()
    await Promise.all(waiting)
    expect(first.error).toMatchObject({ message: 'undone' })
    expect(log).toEqual(['first', 'then 2', 'then 3'])
    expect(rows()).toEqual([2, 3])
  })

  it('is waited for during a third of the lease; the queue goes on without who gave up', async () => {
    const { locks, store, db, time, rows } = stage()
    const { promise, open } = gate()
    const slow = locks.transaction('a', db, () => promise)
    await time.settle()
    const short = track(locks.transaction('b', db, () => 1, { lease: '3s' }))
    const long = track(locks.transaction('c', db, (tx) => insert(tx, 3), { lease: '1m' }))
    await time.advance(999)
    expect(short.settled).toBe(false)
    await time.advance(1)
    expect(short.error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/in use by another transaction of this process.*within 1000 ms/),
    })
    expect((await store.heldKeys()).sort()).toEqual(['a', 'c'])
    open()
    await slow
    await time.settle()
    expect(long.settled).toBe(true)
    expect(rows()).toEqual([3])
  })

  it('of several keys has the token of each checked, and one that is stale refuses all', async () => {
    const { locks, store, db, rows } = stage()
    const tokens = await locks.transaction(['b', 'a', 'b'], db, async (tx, lease) => {
      insert(tx, 1)
      expect(await store.heldKeys()).toEqual(['a', 'b'])
      return lease.keys.map((key) => lease.tokenFor(key))
    })
    expect([await fence(db).highest('a'), await fence(db).highest('b')]).toEqual(tokens)
    db.exec('begin')
    await fence(db).check(db, 'b', (tokens[1] as bigint) * 2n)
    db.exec('commit')
    const refused = locks.transaction(['a', 'b'], db, (tx) => insert(tx, 2))
    await expect(refused).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    expect(await fence(db).highest('a')).toBe(tokens[0])
    expect(rows()).toEqual([1])
    expect(await store.heldKeys()).toEqual([])
  })

  it('cannot wait for the transaction around the call: DEADLOCK', async () => {
    const { locks, db } = stage()
    const inner = (): Promise<void> => locks.transaction('other', db, (tx) => insert(tx, 1))
    await expect(locks.transaction('key', db, inner)).rejects.toMatchObject({ code: 'DEADLOCK' })
    // What the function started and left behind is not inside of it any more.
    let later!: Promise<void>
    const { promise, open } = gate()
    await locks.transaction('key', db, () => {
      later = promise.then(inner)
    })
    open()
    await later
  })

  it("that is inside the user's own transaction is refused, and left alone", async () => {
    const { locks, db, rows } = stage()
    db.exec('begin')
    insert(db, 1)
    const call = locks.transaction('key', db, (tx) => insert(tx, 2))
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/inside a transaction already/),
    })
    db.exec('commit')
    expect(rows()).toEqual([1])
  })

  it('on the database of a lock store, which could not renew meanwhile, is refused until that is closed', async () => {
    const { locks, db, rows } = stage()
    const [store, another] = [sqliteStore(db), sqliteStore(db)]
    const call = (): Promise<void> => locks.transaction('key', db, (tx) => insert(tx, 1))
    const refusal = { code: 'INVALID_OPTION', message: expect.stringMatching(/a file of their own/) }
    await expect(call()).rejects.toMatchObject(refusal)
    await store.close()
    await store.close()
    await expect(call()).rejects.toMatchObject(refusal)
    await another.close()
    await call()
    expect(rows()).toEqual([1])
  })

  it('that does not tell whether it is inside a transaction is refused as well', async () => {
    const { locks, db: real, rows } = stage()
    const db: SqliteDatabase = {
      exec: (sql) => real.exec(sql),
      prepare: (sql) => real.prepare(sql),
      close: () => real.close(),
    }
    db.exec('begin')
    insert(db, 1)
    await expect(locks.transaction('key', db, () => 1)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    db.exec('commit')
    expect(rows()).toEqual([1])
    await locks.transaction('key', db, (tx) => insert(tx, 2))
    expect(rows()).toEqual([1, 2])
  })

  it('that was closed could not begin', async () => {
    const { locks, store, db } = stage()
    db.close()
    const call = locks.transaction('key', db, () => 1)
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', cause: expect.any(Error) })
    expect(await store.heldKeys()).toEqual([])
  })
})

describe('a busy file', () => {
  it('is waited for without stopping the thread, during a third of the lease', async () => {
    const { locks, store, path, db, time } = stage()
    const other = databaseAt(path)
    other.exec('begin immediate')
    const call = track(locks.transaction('key', db, () => 1, { lease: '3s' }))
    await time.advance(900)
    expect(call.settled).toBe(false)
    await time.advance(100)
    expect(call.error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/could not begin.*another connection keeps the file busy/),
    })
    expect(await store.heldKeys()).toEqual([])
  })

  it('is used once it is free', async () => {
    const { locks, path, db, time, rows } = stage()
    const other = databaseAt(path)
    other.exec('begin immediate')
    const call = locks.transaction('key', db, (tx) => insert(tx, 1))
    await time.advance(500)
    other.exec('commit')
    await time.advance(100)
    await call
    expect(rows()).toEqual([1])
  })

  it('without a log: the commit waits for those who read, and is not made after a loss', async () => {
    const { locks, path, db, time } = stage()
    db.exec('pragma journal_mode = delete')
    const reader = databaseAt(path)
    const read = (): unknown => reader.prepare('select n from t').all()
    reader.exec('begin')
    read()
    const call = locks.transaction('key', db, (tx) => insert(tx, 1))
    await time.advance(200)
    reader.exec('commit')
    await time.advance(100)
    await call
    reader.exec('begin')
    expect(read()).toMatchObject([{ n: 1 }])
    const vain = track(locks.transaction('key', db, (tx) => insert(tx, 2), { lease: '3s' }))
    await time.advance(1000)
    expect(vain.error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/could not be committed, and is rolled back/),
    })
    const late = track(locks.transaction('key', db, (tx) => insert(tx, 2)))
    await time.settle()
    time.block(31_000)
    await time.advance(100)
    expect(late.error).toMatchObject({ code: 'LOCK_LOST' })
    reader.exec('commit')
    expect(read()).toHaveLength(1)
  })
})
