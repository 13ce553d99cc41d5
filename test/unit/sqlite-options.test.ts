import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { databaseAt, freshFolder, freshPath, openStoreAt, storeAt } from '../support/sqlite-stage.ts'

const INVALID = (message: RegExp): object => ({
  name: 'LockError',
  code: 'INVALID_OPTION',
  message: expect.stringMatching(message),
})

describe('sqliteStore options', () => {
  it.each(['', ':memory:', 'file:', 'file::memory:'])('refuses %j, which processes cannot share', (path) => {
    expect(() => sqliteStore(path)).toThrow(expect.objectContaining(INVALID(/cannot share.*memoryStore\(\)/)))
  })

  it('refuses a database in memory', () => {
    expect(() => sqliteStore(databaseAt(':memory:'))).toThrow(
      expect.objectContaining(INVALID(/in memory.*memoryStore\(\)/)),
    )
  })

  it('takes a file: URL, absolute or relative, and refuses its parameters', async () => {
    const path = join(freshFolder(), 'with space.db')
    await openStoreAt(pathToFileURL(path).href)
    expect(existsSync(path)).toBe(true)
    const store = storeAt('file:../some%20where/locks.db')
    await expect(store.open()).rejects.toThrow('some where')
    expect(() => sqliteStore('file:locks.db?mode=ro')).toThrow(expect.objectContaining(INVALID(/parameters/)))
    expect(() => sqliteStore('file://elsewhere%/locks.db')).toThrow(
      expect.objectContaining(INVALID(/not a file/)),
    )
  })

  it.each([undefined, null, 42, {}, [], () => undefined])('refuses %o in place of a path', (given) => {
    expect(() => sqliteStore(given as never)).toThrow(expect.objectContaining(INVALID(/path of a file/)))
  })

  it('refuses a database that is closed, and a driver that is asynchronous', () => {
    const db = databaseAt(freshPath())
    db.close()
    expect(() => sqliteStore(db)).toThrow(expect.objectContaining(INVALID(/must be open/)))
    const promised = { exec: async () => undefined, prepare: async () => ({}), close: async () => undefined }
    expect(() => sqliteStore(promised as never)).toThrow(expect.objectContaining(INVALID(/asynchronous/)))
  })

  it.each(['', 'a b', 'x"; drop table y; --', '1st', 'sqlite_x', 'ä', 'x'.repeat(64), 7])(
    'refuses %j as a table',
    (table) => {
      expect(() => sqliteStore('x.db', { table: table as string })).toThrow(
        expect.objectContaining(INVALID(/cannot name a table/)),
      )
    },
  )

  it('refuses an unknown option and a clock that is none', () => {
    expect(() => sqliteStore('x.db', { tabel: 'x' } as never)).toThrow(
      expect.objectContaining(INVALID(/unknown option 'tabel'; known are table, now/)),
    )
    expect(() => sqliteStore('x.db', [] as never)).toThrow(
      expect.objectContaining(INVALID(/options must be an object/)),
    )
    expect(() => sqliteStore('x.db', { now: 5 as never })).toThrow(expect.objectContaining(INVALID(/now/)))
  })

  it('keeps the locks of two tables apart', async () => {
    const path = freshPath()
    const one = await openStoreAt(path, { table: 'group' })
    const two = await openStoreAt(path, { table: 'locks_2' })
    await grantOf(one, askFor('key'))
    await grantOf(two, askFor('key'))
    const tables = databaseAt(path).prepare('select name from sqlite_schema order by name').all()
    expect(tables.map((row) => (row as { name: string }).name)).toEqual(['group', 'locks_2'])
  })

  it('goes through a symbolic link to the same locks', async () => {
    const path = freshPath()
    const link = join(freshFolder(), 'link.db')
    const one = await openStoreAt(path)
    symlinkSync(path, link)
    const two = await openStoreAt(link)
    await grantOf(one, askFor('key'))
    expect(await two.acquire([askFor('key')])).toMatchObject([{ granted: false }])
    expect(readdirSync(dirname(link))).toEqual([basename(link)])
  })

  it('keeps a relative path where it was when the process changes its folder', async () => {
    const folder = freshFolder()
    mkdirSync(join(folder, 'deeper'))
    const before = process.cwd()
    process.chdir(folder)
    try {
      const store = storeAt('locks.db')
      process.chdir('deeper')
      await store.open()
    } finally {
      process.chdir(before)
    }
    expect(existsSync(join(folder, 'locks.db'))).toBe(true)
  })

  it('names the missing folder, the folder in place of a file, and the file that is none', async () => {
    const folder = freshFolder()
    const missing = storeAt(join(folder, 'no', 'such', 'locks.db'))
    await expect(missing.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/no\/such.*create it/),
    })
    await expect(storeAt(folder).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/check that the path is a file/),
    })
    const other = join(folder, 'notes.txt')
    writeFileSync(other, 'not a database, but long enough to be taken for one at first sight'.repeat(50))
    await expect(storeAt(other).open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/not a SQLite database/),
    })
    // Once it can be opened, the same store works.
    mkdirSync(join(folder, 'no', 'such'), { recursive: true })
    await missing.open()
  })

  it.each([
    ['with other columns', '(id integer primary key, key text unique)', /no column named owner/],
    ['that is a view', undefined, /is a view/],
  ])('refuses a table %s', async (_, columns, message) => {
    const path = freshPath()
    databaseAt(path).exec(
      columns ? `create table holdfast_locks ${columns}` : 'create view holdfast_locks as select 1 as key',
    )
    await expect(storeAt(path).open()).rejects.toMatchObject(INVALID(message))
    await expect(storeAt(path).acquire([askFor('key')])).rejects.toMatchObject(INVALID(/option table/))
    await openStoreAt(path, { table: 'mine' })
  })

  it('refuses its own columns without a unique key', async () => {
    const path = freshPath()
    await openStoreAt(path, { table: 'model' })
    databaseAt(path).exec('create table holdfast_locks as select * from model')
    await expect(storeAt(path).open()).rejects.toMatchObject(INVALID(/ON CONFLICT/))
  })
})
