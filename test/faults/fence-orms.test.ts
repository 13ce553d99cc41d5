import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { databaseAt, freshPath } from '../support/sqlite-stage.ts'
import { exampleFolder, stockIn, type Write } from './fence-examples.ts'
import { copyPrismaClient, prismaFolder } from './fence-prisma.ts'

/** The examples of docs/fencing.md, run as they stand there. */
const STALE = expect.objectContaining({ code: 'STALE_TOKEN', key: 'stock:7' })

interface Opened {
  readonly write: Write
  end(): Promise<unknown>
}

async function withKysely(url: string): Promise<Opened> {
  const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })
  return { write: (await stockIn(exampleFolder(), 'Kysely'))(db), end: () => db.destroy() }
}

async function withKnex(url: string): Promise<Opened> {
  const db = knex({ client: 'pg', connection: url })
  return { write: (await stockIn(exampleFolder(), 'Knex'))(db), end: () => db.destroy() }
}

async function withDrizzle(url: string): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: url })
  return { write: (await stockIn(exampleFolder(), 'Drizzle'))(drizzle(pool)), end: () => pool.end() }
}

async function withPrisma(url: string): Promise<Opened> {
  const installed = await prismaFolder()
  const folder = exampleFolder(join(installed, 'node_modules'))
  copyPrismaClient(installed, folder)
  const load = (
    path: string,
  ): Promise<Record<string, new (options: object) => { $disconnect(): Promise<void> }>> =>
    import(pathToFileURL(join(folder, path)).href)
  const { PrismaPg } = await load('node_modules/@prisma/adapter-pg/dist/index.mjs')
  const { PrismaClient } = await load('client.ts')
  const prisma = new PrismaClient!({ adapter: new PrismaPg!({ connectionString: url }) })
  return { write: (await stockIn(folder, 'Prisma'))(prisma), end: () => prisma.$disconnect() }
}

// The first run installs Prisma.
const PATIENCE_MS = 300_000

describe.each([
  ['Kysely', withKysely],
  ['Knex', withKnex],
  ['Drizzle', withDrizzle],
  ['Prisma', withPrisma],
])('the example for %s', (_, open) => {
  let opened: Opened
  let observer: pg.Client

  beforeAll(async () => {
    const url = await freshDatabase()
    observer = new pg.Client({ connectionString: url })
    await observer.connect()
    await observer.query('create table stock (sku text primary key, amount integer not null)')
    await observer.query("insert into stock values ('7', 0), ('8', 0)")
    opened = await open(url)
  }, PATIENCE_MS)
  afterAll(async () => {
    await opened?.end()
    await observer.end()
  })

  const amount = async (sku: string): Promise<unknown> =>
    (await observer.query('select amount from stock where sku = $1', [sku])).rows[0].amount

  it('writes for the newest holder and refuses a late one, whose write is undone', async () => {
    await opened.write('7', 100, 20n)
    await opened.write('7', 90, 21n)
    await opened.write('7', 80, 21n)
    await expect(opened.write('7', 99, 20n)).rejects.toThrow(STALE)
    expect(await amount('7')).toBe(80)
    await opened.write('8', 5, 1n)
    expect(await amount('8')).toBe(5)
  })

  it('carries the highest token without loss', async () => {
    await opened.write('8', 6, 2n ** 63n - 1n)
    await expect(opened.write('8', 7, 2n ** 63n - 2n)).rejects.toThrow(
      /9223372036854775806.*9223372036854775807/,
    )
    expect(await amount('8')).toBe(6)
  })

  it('makes the later writer wait for the transaction before it', async () => {
    await observer.query('begin')
    await observer.query("update holdfast_fence set token = 50 where resource = 'stock:7'")
    const late = opened.write('7', 1, 40n)
    late.catch(() => undefined)
    await expect
      .poll(async () => {
        const waiting = "select 1 from pg_locks where not granted and locktype in ('transactionid', 'tuple')"
        return (await observer.query(waiting)).rows.length
      })
      .toBeGreaterThan(0)
    await observer.query('commit')
    await expect(late).rejects.toThrow(STALE)
    expect(await amount('7')).toBe(80)
  })
})

it('the example for SQLite does the same, without waiting for anything', async () => {
  const db = databaseAt(freshPath())
  db.exec("create table stock (sku text primary key, amount integer); insert into stock values ('7', 0)")
  const write = (await stockIn(exampleFolder(), 'SQLite'))(db) as (...args: Parameters<Write>) => unknown
  write('7', 100, 20n)
  write('7', 90, 21n)
  expect(() => write('7', 99, 20n)).toThrow(STALE)
  expect(db.prepare('select amount from stock').all()).toEqual([{ amount: 90 }])
})
