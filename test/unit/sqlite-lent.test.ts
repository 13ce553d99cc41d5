import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { SqliteDatabase } from '../../src/stores/sqlite/index.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { databaseAt, freshPath, openStoreAt, storeAt } from '../support/sqlite-stage.ts'

function modeOf(db: SqliteDatabase): unknown {
  return db.prepare('pragma journal_mode').get()
}

describe("sqlite on the user's own database", () => {
  it('shares its locks with stores on the path, and is not closed', async () => {
    const path = freshPath()
    const db = databaseAt(path)
    db.exec('pragma journal_mode = wal')
    const lent = await openStoreAt(db)
    const own = await openStoreAt(path)
    const ask = askFor('key')
    await grantOf(lent, ask)
    expect(await acquire(own, askFor('key'))).toMatchObject({ granted: false })
    await lent.close()
    expect(db.prepare('select count(*) as n from holdfast_locks').get()).toMatchObject({ n: 2 })
    expect(await own.release([ask])).toEqual([{ released: true, wanted: true }])
  })

  it('works with a database that has no log, and leaves it so', async () => {
    const path = freshPath()
    const [one, two] = [databaseAt(path), databaseAt(path)]
    const [a, b] = [await openStoreAt(one), await openStoreAt(two)]
    const freed: string[] = []
    const watch = b.watch?.((key) => freed.push(key))
    for (let i = 0; i < 5; i += 1) {
      const ask = askFor('key')
      await grantOf(a, ask)
      expect(await acquire(b, askFor('key'))).toMatchObject({ granted: false })
      watch?.add('key')
      await a.release([ask])
      await expect.poll(() => freed.length, { timeout: 5000 }).toBeGreaterThan(i)
      watch?.delete('key')
    }
    expect(modeOf(one)).toMatchObject({ journal_mode: 'delete' })
    await watch?.close()
  })

  it('refuses to become part of a transaction of the user, and leaves it alone', async () => {
    const db = databaseAt(freshPath())
    db.exec('create table theirs (x)')
    const store = await openStoreAt(db)
    db.exec('begin; insert into theirs values (1)')
    const ask = askFor('key')
    for (const call of [
      () => store.acquire([ask]),
      () => store.release([ask]),
      () => store.list({ limit: 1 }),
      () => storeAt(db, { table: 'another' }).open(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/transaction of its own open.*connection of its own/),
      })
    }
    db.exec('commit')
    expect(db.prepare('select count(*) as n from theirs').get()).toMatchObject({ n: 1 })
    await grantOf(store, ask)
  })

  it('finds out about a transaction even if the driver does not tell', async () => {
    const real = databaseAt(freshPath())
    const db: SqliteDatabase = {
      exec: (sql) => real.exec(sql),
      prepare: (sql) => real.prepare(sql),
      close: () => real.close(),
    }
    const store = await openStoreAt(db)
    db.exec('begin')
    await expect(store.acquire([askFor('key')])).rejects.toThrow(/transaction of its own open/)
    db.exec('rollback')
    await grantOf(store, askFor('key'))
  })

  it('says that it is read-only', async () => {
    const path = freshPath()
    await openStoreAt(path)
    const db = databaseAt(path)
    db.exec('pragma query_only = on')
    await expect(storeAt(db).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/read-only/),
    })
  })

  it('G1 grants nothing once its file was deleted', async () => {
    const path = freshPath()
    const db = databaseAt(path)
    const store = await openStoreAt(db)
    const ask = askFor('key')
    await grantOf(store, ask)
    rmSync(path)
    const own = await openStoreAt(path)
    await grantOf(own, askFor('key'))
    for (const call of [
      () => store.acquire([ask]),
      () => store.renew([ask]),
      () => store.acquire([askFor('x')]),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/deleted or replaced; open the database again/),
      })
    }
  })

  it('reads exact numbers from a connection that is set to give big integers', async () => {
    const db = databaseAt(freshPath()) as SqliteDatabase & { defaultSafeIntegers?: (on: boolean) => void }
    db.defaultSafeIntegers?.(true)
    const store = await openStoreAt(db)
    const ask = askFor('key', { leaseMs: 1234.5 })
    const grant = await grantOf(store, ask)
    expect(await store.renew([ask])).toEqual([{ renewed: true, grant }])
    const { locks } = await store.list({ limit: 10 })
    expect(locks).toMatchObject([{ grant, leaseMs: 1234.5, wanted: false }])
    await store.acquire([...Array(10)].map((_, n) => askFor(`key-${n}`)))
    expect(await store.release([ask])).toEqual([{ released: true, wanted: false }])
  })
})
