import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { startPostgres } from '../servers/postgres.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import {
  atEnd,
  atLast,
  failureOf,
  locksOn,
  observe,
  poolOn,
  proxyTo,
  storeOn,
  until,
} from '../support/postgres-stage.ts'

// Users with a password need a line of their own in pg_hba.conf, before the one that trusts everyone.
const server = await startPostgres()
atLast(() => server.stop())
const query = observe(server.url)

function as(user: string, password: string, database = server.database): string {
  const url = new URL(server.url)
  Object.assign(url, { username: user, password, pathname: database })
  return url.href
}

await query("create role careful login password 'correct horse'")
await query('create role guest login')
await query('create role reader login')
{
  const [row] = await query('show hba_file')
  const file = String(row?.hba_file)
  writeFileSync(file, `host all careful all scram-sha-256\n${readFileSync(file, 'utf8')}`)
  await query('select pg_reload_conf()')
  await until('the new rules', async () => {
    const rows = await query("select 1 from pg_hba_file_rules where auth_method = 'scram-sha-256'")
    return rows.length === 1
  })
}

/** What is wrong at the first call, in words; the store itself works once `mend` is done. */
async function expectRefusal(
  given: Parameters<typeof storeOn>[0],
  options: Parameters<typeof storeOn>[1],
  says: RegExp,
  mend?: () => unknown,
): Promise<void> {
  const locks = locksOn(storeOn(given, options))
  const start = performance.now()
  const error = await failureOf(locks.tryAcquire('key'))
  expect(performance.now() - start).toBeLessThan(4000)
  expect(error).toMatchObject({
    name: 'LockError',
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(says),
    cause: expect.any(Error),
  })
  expect(error.message).not.toContain('wrong horse')
  if (!mend) return
  await mend()
  const lease = await locks.tryAcquire('key')
  expect(await lease?.release()).toBe(true)
}

describe.each(everyClient.filter(({ pooled }) => pooled))('PostgreSQL refuses $name', (client) => {
  it('a wrong password, until it is the right one', async () => {
    await query("alter role careful password 'correct horse'")
    await expectRefusal(
      await client.open(as('careful', 'wrong horse')),
      {},
      /password is wrong/,
      async () => {
        await query("alter role careful password 'wrong horse'")
        await query('grant all on schema public to careful')
        await query('drop table if exists holdfast_locks')
      },
    )
    await query('drop table holdfast_locks')
  })

  it('an unknown database, until it is there', async () => {
    const name = `later_${client.name.replace(/\W/g, '_')}`
    await expectRefusal(await client.open(as('postgres', '', name)), {}, /no such database.*create it/, () =>
      query(`create database "${name}"`),
    )
  })

  it('a schema without rights, until they are granted', async () => {
    await query('drop schema if exists closed cascade')
    await query('create schema closed')
    await expectRefusal(
      await client.open(as('guest', '')),
      { schema: 'closed' },
      /lacks a right; grant usage[^]*create table if not exists "closed"/,
      () => query('grant usage, create on schema closed to guest'),
    )
  })

  it('a table without rights, until they are granted', async () => {
    await query('drop schema if exists shut cascade')
    await query('create schema shut')
    await locksOn(storeOn(server.url, { schema: 'shut' })).list()
    await query('grant usage on schema shut to reader')
    await expectRefusal(
      await client.open(as('reader', '')),
      { schema: 'shut' },
      /lacks a right; .*select, insert, update, delete/,
      () => query('grant select, insert, update, delete on shut.holdfast_locks to reader'),
    )
  })

  it('a user who has no connection left, until there is one', async () => {
    await query('alter role guest connection limit 0')
    await query('drop table if exists holdfast_locks')
    await expectRefusal(
      await client.open(as('guest', '')),
      {},
      /no connection left; raise max_connections/,
      async () => {
        await query('alter role guest connection limit -1')
        await query('grant all on schema public to guest')
      },
    )
    await query('drop table holdfast_locks')
  })

  it('a port where nothing listens, until something does', async () => {
    const { proxy, url } = await proxyTo(server.url)
    proxy.refuse()
    await expectRefusal(await client.open(url), {}, /nothing listens there; check host and port/, () =>
      proxy.accept(),
    )
  })

  it('a host that there is not', async () => {
    const url = new URL(server.url)
    url.hostname = 'no-such-host.invalid'
    await expectRefusal(await client.open(url.href), {}, /host name/)
  })

  it('a table with other columns, for good: it is not a matter of time', async () => {
    await query('create table if not exists other (key text primary key, owner int)')
    const locks = locksOn(storeOn(await client.open(server.url), { table: 'other' }))
    const error = await failureOf(locks.acquire('key', { wait: '20s' }))
    expect(error).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/column owner should be text.*name another table[^]*create table/),
    })
    await query('drop table other')
    expect(await locks.tryAcquire('key')).not.toBeNull()
    await locks.close()
    await query('drop table other')
  })
})

describe('a client that its owner', () => {
  it('has ended: a pool of pg', async () => {
    const pool = new pg.Pool({ connectionString: server.url })
    await pool.end()
    await expectRefusal(pool, {}, /was ended.*give a pool that stays open/)
  })

  it('has ended: a client of pg', async () => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.end()
    await expectRefusal(client, {}, /was ended, or its connection was lost/)
  })

  it('has ended: postgres.js', async () => {
    const sql = postgres(server.url)
    await sql.end()
    await expectRefusal(sql, {}, /was ended; give one that stays open/)
  })

  it('has not connected: a client of pg', async () => {
    const client = new pg.Client({ connectionString: server.url })
    atEnd(() => client.end())
    await expectRefusal(client, {}, /never connected/, () => client.connect())
  })

  it('has lost: a client of pg whose backend was ended', async () => {
    const client = new pg.Client({ connectionString: server.url })
    client.on('error', () => {})
    await client.connect()
    atEnd(() => client.end())
    const locks = locksOn(storeOn(client))
    await locks.acquire('key of a client')
    const { rows } = await client.query('select pg_backend_pid() as pid')
    await query('select pg_terminate_backend($1)', rows[0].pid)
    await until('the news', () => locks.health().then(({ ok }) => !ok))
    expect(await failureOf(locks.tryAcquire('other'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/ended the connection|connection was lost|connection was cut/),
    })
  })
})

describe('a client whose connections are all in use by transactions of its owner', () => {
  it('G7 a pool of pg: a call fails in time and says why, and works when they are over', async () => {
    const pool = poolOn(server.url, { max: 2 })
    const busy = await Promise.all([pool.connect(), pool.connect()])
    await expectRefusal(
      pool,
      { listen: false },
      /your own transactions use all 2 .*make the pool larger/,
      () => {
        for (const client of busy) client.release()
      },
    )
  })

  it('G7 postgres.js: a call fails in time and says why, and works when they are over', async () => {
    const sql = postgres(server.url, { max: 1, onnotice: () => {} })
    atEnd(() => sql.end({ timeout: 0 }))
    let over: (() => void) | undefined
    const busy = sql.begin(() => new Promise<void>((resolve) => (over = resolve)))
    await until('the transaction', () => over)
    await expectRefusal(sql, { listen: false }, /in use by your own transactions/, async () => {
      over?.()
      await busy
    })
  })
})
