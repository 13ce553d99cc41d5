import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { isInTransaction, type SqliteDatabase } from '../../src/databases/sqlite.ts'
import { fence, fenceSql, type SqliteFence } from '../../src/fence/index.ts'
import { databaseAt, freshPath } from '../support/sqlite-stage.ts'

const STALE = expect.objectContaining({ code: 'STALE_TOKEN' })
const INVALID = expect.objectContaining({ code: 'INVALID_OPTION' })
const HIGHEST = 2n ** 63n - 1n

let path: string
let db: SqliteDatabase
let guard: SqliteFence

beforeEach(() => {
  path = freshPath()
  db = databaseAt(path)
  guard = fence(db)
})

function transact<T>(on: SqliteDatabase, work: () => T): T {
  on.exec('begin immediate')
  try {
    const result = work()
    on.exec('commit')
    return result
  } catch (error) {
    on.exec('rollback')
    throw error
  }
}

function tables(): unknown[] {
  return db.prepare("select name from sqlite_master where name like '%fence%'").all()
}

describe('fence on SQLite', () => {
  it('refuses a token lower than the highest seen, and says which both are', async () => {
    for (const token of [5n, 9n, 9n]) transact(db, () => guard.checkSync(db, 'stock:7', token))
    expect(() => transact(db, () => guard.checkSync(db, 'stock:7', 8n))).toThrow(
      expect.objectContaining({
        code: 'STALE_TOKEN',
        key: 'stock:7',
        message: expect.stringMatching(/\b8\b.*\b9\b/),
      }),
    )
    expect(await guard.highest('stock:7')).toBe(9n)
  })

  it('is exact for the highest tokens, where numbers are not', async () => {
    transact(db, () => guard.checkSync(db, 'r', 2n ** 60n + 1n))
    expect(await guard.highest('r')).toBe(2n ** 60n + 1n)
    transact(db, () => guard.checkSync(db, 'r', HIGHEST - 1n))
    transact(db, () => guard.checkSync(db, 'r', HIGHEST))
    expect(() => transact(db, () => guard.checkSync(db, 'r', HIGHEST - 1n))).toThrow(STALE)
    expect(await guard.highest('r')).toBe(HIGHEST)
  })

  it('counts a token as seen when the transaction commits, not before', async () => {
    transact(db, () => guard.checkSync(db, 'r', 5n))
    db.exec('begin')
    guard.checkSync(db, 'r', 9n)
    db.exec('rollback')
    expect(await guard.highest('r')).toBe(5n)
    transact(db, () => guard.checkSync(db, 'r', 6n))
  })

  it('lets a strict check pass once per token', () => {
    const strict = fence(db, { strict: true })
    transact(db, () => strict.checkSync(db, 'r', 5n))
    expect(() => transact(db, () => strict.checkSync(db, 'r', 5n))).toThrow(STALE)
    transact(db, () => strict.checkSync(db, 'r', 5n, { strict: false }))
    transact(db, () => strict.checkSync(db, 'r', 6n))
    expect(() => transact(db, () => guard.checkSync(db, 'r', 6n, { strict: true }))).toThrow(STALE)
  })

  it('checks asynchronously as well', async () => {
    db.exec('begin immediate')
    await guard.check(db, 'r', { token: 5n })
    await expect(guard.check(db, 'r', 4n)).rejects.toThrow(STALE)
    db.exec('commit')
    expect(await guard.highest('r')).toBe(5n)
  })

  it('refuses to check outside of a transaction, and sees nothing then', async () => {
    await guard.open()
    expect(() => guard.checkSync(db, 'r', 5n)).toThrow(INVALID)
    await expect(guard.check(db, 'r', 5n)).rejects.toThrow(INVALID)
    expect(await guard.highest('r')).toBeNull()
  })

  it('finds out about the transaction where the driver does not tell', () => {
    const silent: SqliteDatabase = {
      exec: (sql) => db.exec(sql),
      prepare: (sql) => db.prepare(sql),
      close: () => db.close(),
    }
    expect(() => guard.checkSync(silent, 'r', 5n)).toThrow(INVALID)
    expect(isInTransaction(db)).toBe(false)
    transact(silent, () => guard.checkSync(silent, 'r', 5n))
    db.exec('begin')
    guard.checkSync(silent, 'r', 9n)
    db.exec('rollback')
    expect(db.prepare('select cast(token as text) as token from holdfast_fence').all()).toEqual([
      { token: '5' },
    ])
  })

  it('makes the writer that comes second wait or fail, so that it is judged by what was committed', () => {
    const other = databaseAt(path)
    for (const each of [db, other]) each.exec('pragma journal_mode = wal; pragma busy_timeout = 0')
    transact(db, () => guard.checkSync(db, 'r', 1n))
    db.exec('begin')
    guard.checkSync(db, 'r', 9n)
    // A view of the data from before the commit.
    other.exec('begin')
    other.prepare('select * from holdfast_fence').all()
    expect(() => guard.checkSync(other, 'r', 5n)).toThrow(/locked|busy/i)
    db.exec('commit')
    expect(() => guard.checkSync(other, 'r', 5n)).toThrow(/locked|busy/i)
    other.exec('rollback')
    expect(() => transact(other, () => guard.checkSync(other, 'r', 5n))).toThrow(STALE)
    // A driver that does not reset what has failed would be stuck from here on.
    transact(other, () => guard.checkSync(other, 'r', 10n))
    transact(db, () => guard.checkSync(db, 'r', 11n))
  })

  it('forgets when told to, and says whether there was anything', async () => {
    expect(await guard.forget('r')).toBe(false)
    expect(tables()).toEqual([])
    transact(db, () => guard.checkSync(db, 'r', 9n))
    expect(await guard.forget('r')).toBe(true)
    expect(await guard.forget('r')).toBe(false)
    expect(await guard.highest('r')).toBeNull()
    transact(db, () => guard.checkSync(db, 'r', 1n))
  })

  it('waits a while for another writer before it forgets', async () => {
    const other = databaseAt(path)
    db.exec('pragma busy_timeout = 0')
    transact(db, () => guard.checkSync(db, 'r', 9n))
    other.exec('begin immediate')
    const forgetting = guard.forget('r')
    await setImmediate()
    other.exec('rollback')
    expect(await forgetting).toBe(true)
  })
})

describe('a SQLite database that is closed', () => {
  it('is an error like any other', async () => {
    await guard.open()
    db.close()
    expect(() => guard.checkSync(db, 'r', 5n)).toThrow(INVALID)
    const unavailable = expect.objectContaining({
      code: expect.stringMatching(/STORE_UNAVAILABLE|INVALID_OPTION/),
    })
    await expect(guard.highest('r')).rejects.toThrow(unavailable)
    await expect(guard.forget('r')).rejects.toThrow(unavailable)
    await expect(guard.open()).rejects.toThrow(unavailable)
  })
})

describe('the table in SQLite', () => {
  it('is created by the first check, and again if that was rolled back', () => {
    db.exec('begin')
    guard.checkSync(db, 'r', 5n)
    db.exec('rollback')
    expect(tables()).toEqual([])
    transact(db, () => guard.checkSync(db, 'r', 4n))
    expect(tables()).toEqual([{ name: 'holdfast_fence' }])
    db.exec('drop table holdfast_fence')
    transact(db, () => guard.checkSync(db, 'r', 3n))
  })

  it('is created by open(), any number of times', async () => {
    await Promise.all([guard.open(), guard.open(), fence(databaseAt(path)).open()])
    await guard.open()
    expect(tables()).toHaveLength(1)
  })

  it('has the name that was chosen', async () => {
    const own = fence(db, { table: 'my_fence' })
    transact(db, () => own.checkSync(db, 'r', 5n))
    expect(tables()).toEqual([{ name: 'my_fence' }])
    expect(await guard.highest('r')).toBeNull()
  })

  it('is left to others with create: false, and the error quotes what makes it', async () => {
    const modest = fence(db, { create: false })
    const missing = expect.objectContaining({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(fenceSql({ dialect: 'sqlite' })),
      cause: expect.anything(),
    })
    for (const call of [() => modest.open(), () => modest.highest('r'), () => modest.forget('r')]) {
      await expect(call()).rejects.toThrow(missing)
    }
    db.exec('begin')
    expect(() => modest.checkSync(db, 'r', 5n)).toThrow(missing)
    await expect(modest.check((text, values) => db.prepare(text).all(...values), 'r', 5n)).rejects.toThrow(
      missing,
    )
    db.exec('rollback')
    expect(tables()).toEqual([])
    db.exec(fenceSql({ dialect: 'sqlite' }))
    await modest.open()
    transact(db, () => modest.checkSync(db, 'r', 5n))
  })

  it.each(['resource text', 'resource text, token integer, previous integer, seen_at integer'])(
    'with other columns (%s) is refused at once',
    async (columns) => {
      db.exec(`create table holdfast_fence (${columns})`)
      await expect(guard.open()).rejects.toThrow(INVALID)
      expect(() => transact(db, () => guard.checkSync(db, 'r', 5n))).toThrow(INVALID)
    },
  )
})

describe('a function in place of a SQLite database', () => {
  const query = async (text: string, values: string[]): Promise<{ rows: unknown[] }> => {
    await setImmediate()
    return { rows: db.prepare(text).all(...values) }
  }

  it('is asked for everything', async () => {
    const asked = fence(query, { dialect: 'sqlite' })
    expect(await asked.highest('r')).toBeNull()
    expect(await asked.forget('r')).toBe(false)
    await asked.open()
    await asked.check(query, 'r', 5n)
    await asked.check((text, values) => db.prepare(text).all(...values), 'r', 6n)
    await expect(asked.check(query, 'r', 5n)).rejects.toThrow(STALE)
    expect(await asked.highest('r')).toBe(6n)
    expect(await asked.forget('r')).toBe(true)
  })

  it('may find the table missing, also when it has an ORM that wraps errors', async () => {
    const wrapped = (text: string, values: string[]): Promise<{ rows: unknown[] }> =>
      query(text, values).catch((cause: unknown) => {
        throw new Error(`Failed query: ${text}`, { cause })
      })
    await guard.check(wrapped, 'r', 5n)
    await expect(guard.check(wrapped, 'r', 4n)).rejects.toThrow(STALE)
  })

  it.each([
    ['nothing', () => undefined],
    ['no row', () => []],
    ['a row without a column', () => [{}]],
    ['rows of something else', () => [{ changes: 1 }]],
    ['a count', () => ({ rows: 1 })],
    ['two rows', () => [{ previous: '0' }, { previous: '0' }]],
  ])('that gives %s makes the check fail: it never passes unseen', async (_, answer) => {
    await expect(guard.check(answer as never, 'r', 5n)).rejects.toThrow(INVALID)
  })

  it('does not take a resource for a complaint of the database', async () => {
    await guard.check(query, 'no such table: x', 5n)
    await expect(guard.check(query, 'no such table: x', 4n)).rejects.toThrow(STALE)
    expect(await guard.highest('no such table: x')).toBe(5n)
  })
})
