import { Client, Pool } from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { fence, type FenceOptions, fenceSql } from '../../src/fence/index.ts'
import { databaseAt, freshPath } from '../support/sqlite-stage.ts'

const INVALID = expect.objectContaining({ code: 'INVALID_OPTION' })
const nobody = 'postgres://nobody@127.0.0.1:1/none'

describe('fence', () => {
  const pool = new Pool({ connectionString: nobody })

  it.each([
    ['an unknown option', { tabel: 'x' }],
    ['strict: "yes"', { strict: 'yes' }],
    ['create: 1', { create: 1 }],
    ['another dialect than the database has', { dialect: 'sqlite' }],
    ['no options but null', null],
    ['a list', []],
  ])('refuses %s', (_, options) => {
    expect(() => fence(pool, options as FenceOptions)).toThrow(INVALID)
  })

  it('names itself once when it refuses', () => {
    expect(() => fence(pool, { tabel: 'x' } as object)).toThrow(/^fence: unknown option 'tabel'/)
    expect(() => fenceSql({ tabel: 'x' } as never)).toThrow(/^fenceSql: unknown option 'tabel'/)
  })

  it('gives whole statements to those who create tables, with the schema if it is one of their own', () => {
    for (const dialect of ['postgres', 'sqlite'] as const)
      expect(fenceSql({ dialect })).toMatch(/^create table [^;]+;$/)
    expect(fenceSql({ dialect: 'postgres', schema: 'public' })).not.toMatch(/create schema/)
    expect(fenceSql({ dialect: 'postgres', schema: 'app' })).toMatch(
      /^create schema if not exists "app";\ncreate table if not exists "app"\."holdfast_fence" [^;]+;$/,
    )
  })

  it('makes a pool that nobody listens to safe to leave idle, by one listener', () => {
    const own = new Pool({ connectionString: nobody })
    for (let i = 0; i < 3; i += 1) fence(own)
    expect(own.listenerCount('error')).toBe(1)
    expect(() => own.emit('error', new Error('an idle connection broke'))).not.toThrow()
  })

  it.each(['', '1table', 'a b', 'a"b', "a'; drop table x; --", 'a.b', 'ä', 'x'.repeat(64), 7, null, '$$'])(
    'refuses %j as the name of a table or a schema',
    (name) => {
      expect(() => fence(pool, { table: name as string })).toThrow(INVALID)
      expect(() => fence(pool, { schema: name as string })).toThrow(INVALID)
      expect(() => fenceSql({ dialect: 'postgres', table: name as string })).toThrow(INVALID)
      expect(() => fenceSql({ dialect: 'sqlite', table: name as string })).toThrow(INVALID)
    },
  )

  it('refuses what SQLite has not got', () => {
    const db = databaseAt(freshPath())
    expect(() => fence(db, { schema: 'main' })).toThrow(INVALID)
    expect(() => fence(db, { table: 'sqlite_fence' })).toThrow(INVALID)
    expect(() => fence(db, { dialect: 'postgres' })).toThrow(INVALID)
  })

  it.each([undefined, null, 'postgres://localhost', {}, [], Object.assign(() => [], { raw: () => [] })])(
    'refuses %j as a database, and says what it takes',
    (db) => {
      expect(() => fence(db as never, { dialect: 'postgres' })).toThrow(/fence: give a pool or client of pg/)
    },
  )

  it('wants to know what a function speaks', () => {
    expect(() => fence((() => []) as never)).toThrow(/dialect/)
    expect(() => fence(() => [], { dialect: 'oracle' as 'sqlite' })).toThrow(/dialect/)
    expect(() => fenceSql({ dialect: 'oracle' as 'sqlite' })).toThrow(/dialect/)
  })
})

describe('a check that could not protect anything', () => {
  const sql = postgres(nobody)
  const guard = fence(new Pool({ connectionString: nobody }))

  it.each([
    ['the pool', new Pool({ connectionString: nobody }), /this is the pool; pass the client/],
    ['the instance of postgres.js', sql, /this is the instance; pass what begin\(\) passes/],
    ['a SQLite database', databaseAt(freshPath()), /give a client of pg/],
    ['the transaction of an ORM itself', { executeQuery: () => [] }, /for an ORM a function/],
    [
      'the transaction of Knex, which is a function',
      Object.assign(() => [], { raw: () => [] }),
      /for an ORM a function/,
    ],
    ['nothing', undefined, /give a client of pg/],
  ])('given %s is refused before anything is sent', async (_, tx, message) => {
    await expect(guard.check(tx as never, 'r', 5n)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
    )
  })

  it.each([
    ['a client of pg', new Client({ connectionString: nobody })],
    ['the instance of postgres.js', sql],
    ['an ORM', { executeQuery: () => [] }],
    ['nothing', undefined],
  ])('on SQLite, given %s, is refused', async (_, tx) => {
    const lite = fence(databaseAt(freshPath()))
    await expect(lite.check(tx as never, 'r', 5n)).rejects.toThrow(INVALID)
    expect(() => lite.checkSync(tx as never, 'r', 5n)).toThrow(INVALID)
  })
})
