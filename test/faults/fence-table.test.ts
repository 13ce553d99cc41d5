import pg from 'pg'
import postgres from 'postgres'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { fence, fenceSql } from '../../src/fence/index.ts'
import { freePort } from '../servers/free-port.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { tcpProxy } from '../servers/tcp-proxy.ts'

const DDL = fenceSql({ dialect: 'postgres' })
const STALE = expect.objectContaining({ code: 'STALE_TOKEN' })
const INVALID = expect.objectContaining({ code: 'INVALID_OPTION' })
const UNAVAILABLE = expect.objectContaining({ code: 'STORE_UNAVAILABLE' })

let url: string
beforeEach(async () => {
  url = await freshDatabase()
})

function poolOf(options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options })
  onTestFinished(() => (pool.ended ? undefined : pool.end()))
  return pool
}

async function begun(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = await pool.connect()
  await client.query('begin')
  return client
}

async function clientOf(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

describe('the table in PostgreSQL', () => {
  it('is created beside the transaction that needs it first, not in it', async () => {
    const pool = poolOf()
    const client = await begun(pool)
    await fence(pool).check(client, 'r', 5n)
    const { rows } = await pool.query("select to_regclass('public.holdfast_fence') is not null as there")
    expect(rows).toEqual([{ there: true }])
    await client.query('rollback')
    client.release()
    expect(await fence(pool).highest('r')).toBeNull()
  })

  it('is created once when 20 clients start at once, in a schema that is new as well', async () => {
    for (const schema of ['public', 'guards']) {
      const outcomes = Array.from({ length: 20 }, async () => {
        const client = await clientOf()
        await fence(client, { schema }).open()
        await client.query('begin')
        await fence(client, { schema }).check(client, 'r', 5n)
        await client.query('commit')
      })
      await Promise.all(outcomes)
      expect(await fence(poolOf(), { schema }).highest('r')).toBe(5n)
    }
  })

  it('gives no notice that a driver would print', async () => {
    const notices: unknown[] = []
    const sql = postgres(url, { onnotice: (notice) => notices.push(notice) })
    await Promise.all([fence(sql).open(), fence(sql).open(), fence(sql, { table: 'other' }).open()])
    await fence(sql).open()
    await sql.end()
    expect(notices).toEqual([])
  })

  it('is not needed twice: a pool of one connection works once it is there', async () => {
    await fence(poolOf()).open()
    const pool = poolOf({ max: 1 })
    const client = await begun(pool)
    await fence(pool).check(client, 'r', 5n)
    await client.query('commit')
    client.release()
  })

  it('is created with a single client before the transaction, and not during it', async () => {
    const client = await clientOf()
    const guard = fence(client)
    await client.query('begin')
    await expect(guard.check(client, 'r', 5n)).rejects.toThrow(/call open\(\) of the guard before it begins/)
    await expect(guard.open()).rejects.toThrow(INVALID)
    // Still good.
    await client.query('commit')
    await guard.open()
    await client.query('begin')
    await guard.check(client, 'r', 5n)
    await client.query('commit')
    expect(await guard.highest('r')).toBe(5n)
  })

  it('is not created in a transaction that somebody has left open in the pool', async () => {
    const pool = poolOf({ max: 1 })
    ;(await begun(pool)).release()
    await fence(pool).open()
    const { rows } = await poolOf().query("select to_regclass('public.holdfast_fence') is not null as there")
    expect(rows).toEqual([{ there: true }])
  })

  it('is created again after it was dropped; what ran into that says so', async () => {
    const pool = poolOf()
    const guard = fence(pool)
    await guard.open()
    await pool.query('drop table holdfast_fence')
    const client = await begun(pool)
    await expect(guard.check(client, 'r', 5n)).rejects.toThrow(
      expect.objectContaining({
        code: 'STORE_UNAVAILABLE',
        cause: expect.objectContaining({ code: '42P01' }),
      }),
    )
    await client.query('rollback')
    await client.query('begin')
    await guard.check(client, 'r', 5n)
    await client.query('commit')
    client.release()
    await pool.query('drop table holdfast_fence')
    await expect(guard.highest('r')).rejects.toThrow(UNAVAILABLE)
    expect(await guard.highest('r')).toBeNull()
  })

  it('is left to others with create: false, and the error quotes what makes it', async () => {
    const pool = poolOf()
    const guard = fence(pool, { create: false })
    const missing = expect.objectContaining({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(DDL),
    })
    const client = await begun(pool)
    for (const call of [
      () => guard.open(),
      () => guard.highest('r'),
      () => guard.forget('r'),
      () => guard.check(client, 'r', 5n),
    ]) {
      await expect(call()).rejects.toThrow(missing)
    }
    await pool.query(DDL)
    await guard.check(client, 'r', 5n)
    await client.query('commit')
    client.release()
    await guard.open()
    expect(await guard.highest('r')).toBe(5n)
  })

  it.each([
    ['other columns', 'resource text primary key, token bigint'],
    ['no primary key', 'resource text, token bigint, previous bigint, seen_at timestamptz'],
    ['other types', 'resource text primary key, token jsonb, previous bigint, seen_at timestamptz'],
  ])('with %s is refused with the statement that makes the right one', async (_, columns) => {
    const pool = poolOf()
    await pool.query(`create table holdfast_fence (${columns})`)
    const wrong = expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(DDL),
      cause: expect.anything(),
    })
    await expect(fence(pool).open()).rejects.toThrow(wrong)
    const client = await begun(pool)
    await expect(fence(pool).check(client, 'r', 5n)).rejects.toThrow(wrong)
    await client.query('rollback')
    client.release()
  })

  it('is out of reach for a user without rights, until they are given', async () => {
    const admin = poolOf()
    const role = `guest_${process.pid}_${Date.now()}`
    await admin.query(`create role ${role} login`)
    onTestFinished(() => admin.query(`drop owned by ${role}; drop role ${role}`).then(() => undefined))
    const pool = poolOf({ user: role, connectionString: url.replace(/\/\/[^@]*@/, `//${role}@`) })
    const schema = 'guards'
    const guard = fence(pool, { schema })
    const ddl = fenceSql({ dialect: 'postgres', schema })
    const grants = 'usage on the schema "guards", and select, insert, update and delete on the table'
    const expectRefusal = async (...parts: string[]): Promise<void> => {
      const error = (await guard.open().catch((reason: unknown) => reason)) as Error
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { code: '42501' } })
      for (const part of [...parts, grants]) expect(error.message).toContain(part)
    }
    const creating = 'is missing, and this user may not create it (permission denied for'
    const using = 'this user may not use the table "guards"."holdfast_fence" (permission denied for'
    await expectRefusal(creating, ddl)
    await admin.query('create schema guards')
    await expectRefusal(`${using} schema guards`)
    await admin.query(`grant usage on schema guards to ${role}`)
    await expectRefusal(`${creating} schema guards`, ddl)
    await admin.query(ddl)
    await expectRefusal(`${using} table holdfast_fence`)
    await admin.query(`grant select, insert, update, delete on guards.holdfast_fence to ${role}`)
    await guard.open()
    const client = await begun(pool)
    await guard.check(client, 'r', 5n)
    await client.query('commit')
    client.release()
    expect(await guard.forget('r')).toBe(true)
  })
})

describe('a check that protects nothing', () => {
  it('on a client that has not begun a transaction is refused', async () => {
    const pool = poolOf()
    const guard = fence(pool)
    const client = await pool.connect()
    await expect(guard.check(client, 'r', 5n)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(/BEGIN/) }),
    )
    // Sent, not awaited: the check is in the transaction all the same.
    const beginning = client.query('begin')
    await guard.check(client, 'r', 5n)
    await beginning
    await client.query('commit')
    client.release()
  })
})

describe('a database that is not to be had', () => {
  it('a client that was never connected is refused at once', async () => {
    await expect(fence(new pg.Client({ connectionString: url })).open()).rejects.toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(/connect\(\) first/),
      }),
    )
  })

  it('is STORE_UNAVAILABLE with its cause, and the next call works when it is back', async () => {
    const nowhere = fence(
      poolOf({ connectionString: `postgres://postgres@127.0.0.1:${await freePort()}/none` }),
    )
    for (const call of [() => nowhere.open(), () => nowhere.highest('r'), () => nowhere.forget('r')]) {
      await expect(call()).rejects.toThrow(
        expect.objectContaining({
          code: 'STORE_UNAVAILABLE',
          cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
        }),
      )
    }
    const ended = poolOf()
    await ended.end()
    await expect(fence(ended).open()).rejects.toThrow(UNAVAILABLE)
  })

  it.each(['ended by the server', 'reset by the network'])(
    'is STORE_UNAVAILABLE when the connection is %s during a call, and calm after that',
    async (how) => {
      const target = new URL(url)
      const proxy = await tcpProxy(Number(target.port))
      onTestFinished(() => proxy.close())
      target.port = String(proxy.port)
      const pool = poolOf({ connectionString: target.href })
      const guard = fence(pool)
      await guard.open()
      const admin = await begun(poolOf())
      await admin.query('lock table holdfast_fence')
      const asking = guard.highest('r')
      asking.catch(() => undefined)
      let pids: unknown[] = []
      const waiting =
        "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
      await expect.poll(async () => (pids = (await admin.query(waiting)).rows).length).toBe(1)
      if (how === 'reset by the network') proxy.cut()
      else await admin.query('select pg_terminate_backend($1)', [(pids[0] as { pid: number }).pid])
      await expect(asking).rejects.toThrow(
        expect.objectContaining({ code: 'STORE_UNAVAILABLE', cause: expect.any(Error) }),
      )
      await admin.query('commit')
      admin.release()
      expect(await guard.highest('r')).toBeNull()
    },
  )
})

describe('a function in place of a PostgreSQL database', () => {
  it('is asked for everything, and its check judges as any other', async () => {
    const pool = poolOf()
    const guard = fence((text, values) => pool.query(text, values), { dialect: 'postgres' })
    const client = await begun(pool)
    await guard.check((text, values) => client.query(text, values), 'r', 5n)
    await expect(
      guard.check(async (text, values) => (await client.query(text, values)).rows, 'r', 4n),
    ).rejects.toThrow(STALE)
    await client.query('commit')
    client.release()
    expect(await guard.highest('r')).toBe(5n)
    expect(await guard.forget('r')).toBe(true)
  })

  it('that gives no rows makes the check fail: it never passes unseen', async () => {
    const guard = fence(poolOf())
    await guard.open()
    for (const answer of [undefined, [], { rowCount: 1 }, [[]], [{ previous: 0 }]]) {
      await expect(guard.check((() => answer) as never, 'r', 5n)).rejects.toThrow(INVALID)
    }
  })
})
