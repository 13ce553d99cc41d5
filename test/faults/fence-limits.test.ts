import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'

/** What no call may do is to wait for ever: each of these takes as long as a call is allowed to. */
const LIMIT_MS = 5000
const TOLD_TO_OPEN = expect.objectContaining({
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(/call open\(\) of the guard before/),
})

describe.concurrent('the limit of a guard', () => {
  it('ends a check that would create the table while it has the only connection of pg', async () => {
    const pool = new pg.Pool({ connectionString: await freshDatabase(), max: 1 })
    const guard = fence(pool)
    const client = await pool.connect()
    await client.query('begin')
    const start = performance.now()
    await expect(guard.check(client, 'r', 5n)).rejects.toThrow(TOLD_TO_OPEN)
    expect(performance.now() - start).toBeLessThan(LIMIT_MS + 2000)
    // The transaction is as good as before.
    await client.query('select 1')
    await client.query('commit')
    client.release()
    await guard.open()
    await pool.connect().then(async (again) => {
      await again.query('begin')
      await guard.check(again, 'r', 5n)
      await again.query('commit')
      again.release()
    })
    expect(await guard.highest('r')).toBe(5n)
    await pool.end()
  })

  it('ends a check that would create the table while it has the only connection of postgres.js', async () => {
    const sql = postgres(await freshDatabase(), { max: 1 })
    const guard = fence(sql)
    const start = performance.now()
    await sql.begin(async (tx) => {
      await expect(guard.check(tx, 'r', 5n)).rejects.toThrow(TOLD_TO_OPEN)
      expect(performance.now() - start).toBeLessThan(LIMIT_MS + 2000)
      await tx`select 1`
    })
    await guard.open()
    await sql.begin((tx) => guard.check(tx, 'r', 5n))
    expect(await guard.highest('r')).toBe(5n)
    await sql.end()
  })

  it('ends a question that waits for a connection, and gives back one that comes too late', async () => {
    const pool = new pg.Pool({ connectionString: await freshDatabase(), max: 1 })
    const guard = fence(pool)
    await guard.open()
    const client = await pool.connect()
    await expect(guard.highest('r')).rejects.toThrow(TOLD_TO_OPEN)
    client.release()
    expect(await guard.highest('r')).toBeNull()
    await expect.poll(() => [pool.waitingCount, pool.totalCount - pool.idleCount]).toEqual([0, 0])
    await pool.end()
  })

  it('is for postgres.js also the end of what was not sent yet: it is not done later', async () => {
    const sql = postgres(await freshDatabase(), { max: 1 })
    const guard = fence(sql)
    await guard.open()
    await sql.begin((tx) => guard.check(tx, 'r', 5n))
    const reserved = await sql.reserve()
    await expect(guard.forget('r')).rejects.toThrow(TOLD_TO_OPEN)
    reserved.release()
    expect(await guard.highest('r')).toBe(5n)
    await sql.end()
  })

  it('is for a client of pg also the end of what was not sent yet: it is not done later', async () => {
    const url = await freshDatabase()
    const [client, other] = [new pg.Client(url), new pg.Client(url)]
    await Promise.all([client.connect(), other.connect()])
    const guard = fence(client)
    await guard.open()
    await client.query('begin')
    await guard.check(client, 'r', 5n)
    await client.query('commit')
    await other.query('select pg_advisory_lock(1)')
    const busy = client.query('select pg_advisory_lock(1)')
    await expect(guard.forget('r')).rejects.toThrow(TOLD_TO_OPEN)
    await other.query('select pg_advisory_unlock(1)')
    await busy
    expect(await guard.highest('r')).toBe(5n)
    await Promise.all([client.end(), other.end()])
  })

  it('ends a question to a function that never answers', async () => {
    const never = (): Promise<never> => new Promise(() => {})
    const [one, two] = [fence(never, { dialect: 'postgres' }), fence(never, { dialect: 'sqlite' })]
    await Promise.all([one, two].map((guard) => expect(guard.highest('r')).rejects.toThrow(TOLD_TO_OPEN)))
  })

  it('ends a question that the server does not answer, and keeps no connection', async () => {
    const url = await freshDatabase()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    const guard = fence(pool)
    await guard.open()
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    await other.query('begin; lock table holdfast_fence')
    await expect(guard.highest('r')).rejects.toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }))
    await other.query('commit')
    expect(await guard.highest('r')).toBeNull()
    await Promise.all([other.end(), pool.end()])
  })
})
