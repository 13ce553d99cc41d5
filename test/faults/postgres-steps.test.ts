import type { EventEmitter } from 'node:events'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import type { Ask, Store } from '../../src/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { askValues } from '../../src/stores/postgres/records.ts'
import { DEFAULT_NAMES } from '../../src/stores/postgres/schema.ts'
import { statementsFor } from '../../src/stores/postgres/statements.ts'
import { Sweep } from '../../src/stores/shared/sweep.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { atEnd, failureWithin, locksOn, observe, poolOn, storeOn, until } from '../support/postgres-stage.ts'
import { sessionsThat, WAITING } from '../support/pg-sessions.ts'

const url = await freshDatabase()
const query = observe(url)
const HOUR_MS = 3_600_000

// Some of the tests are inside a transaction when they first ask.
const opener = postgresStore(url)
await opener.open()
await opener.close()

async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  atEnd(() => client.end())
  return client
}

/** Inside a transaction, where the store itself refuses to. */
async function grantIn(client: pg.Client, ask: Ask): Promise<number> {
  const { text } = statementsFor(DEFAULT_NAMES).acquire
  const { rows } = await client.query<unknown[]>({
    text,
    values: askValues([ask], null, []),
    rowMode: 'array',
  })
  return Number(rows[0]?.[0])
}

/** Collects the codes of what the server refuses, also of what is tried again. */
function refusalsOf(pool: pg.Pool, refusals: unknown[]): pg.Pool {
  return pool.on('connect', (client) => {
    const { connection } = client as unknown as { connection: EventEmitter }
    connection.on('errorMessage', ({ code }: { code: string }) => refusals.push(code))
  })
}

/** Whether a statement of another session waits for a lock. */
const someoneWaits = (): Promise<number> => sessionsThat(query, WAITING)

describe('two steps on one key at the same time', () => {
  it('G5 a release waits for the ask that came before it, and undoes it', async () => {
    const client = await session()
    const store = storeOn(url)
    await grantOf(store, askFor('key', { leaseMs: 1 }))
    await until('the end of that', async () => (await store.list({ limit: 1 })).locks.length === 0)
    await client.query('begin')
    const ask = askFor('key')
    await grantIn(client, ask)
    const release = store.release([ask])
    await until('the release to wait', someoneWaits)
    await client.query('commit')
    expect(await release).toMatchObject([{ released: true }])
    expect((await store.list({ limit: 1 })).locks).toEqual([])
  })

  it('G1 G11 an ask that had to wait is judged by the clock after the wait, not before it', async () => {
    const client = await session()
    const store = storeOn(url)
    const held = askFor('late', { leaseMs: 400 })
    await grantOf(store, held)
    await client.query('begin')
    await client.query(
      "update holdfast_locks set expires_at = clock_timestamp() + interval '400 ms' where key = 'late'",
    )
    const ask = store.acquire([askFor('late')])
    await until('the ask to wait', someoneWaits)
    // Its lease runs out while the ask waits for the row.
    await until('the end of the lease', async () => {
      const { rows } = await client.query(
        "select expires_at < clock_timestamp() as over from holdfast_locks where key = 'late'",
      )
      return rows[0].over
    })
    await client.query('commit')
    expect(await ask).toMatchObject([{ granted: true, previous: held.holder }])
  })

  it('G3 an ask whose number was drawn before it had to wait still gets a higher one', async () => {
    const client = await session()
    const store = storeOn(url)
    const first = askFor('drawn')
    // The first of its key: the row is not there yet for the other.
    await client.query('begin')
    const grant = await grantIn(client, first)
    const second = askFor('drawn')
    const waiting = grantOf(store, second)
    await until('the second ask to wait', someoneWaits)
    await client.query(
      `update holdfast_locks set owner = null, expires_at = clock_timestamp(), grant_number = grant_number + 60000000
        where key = 'drawn'`,
    )
    await client.query('commit')
    expect(await waiting).toBe(grant + 60_000_001)
  })

  it('G7 on a row that somebody keeps locked: each gives up in its time and says why', async () => {
    const store = storeOn(url)
    // Connections are no part of the time that a step takes.
    await Promise.all([1, 2, 3, 4].map(() => store.list({ limit: 1 })))
    // One for each step: in a queue before one row, the later ones have to wait again.
    const held = [1, 2, 3, 4].map((i) => askFor(`kept locked ${i}`))
    const [one, two, three, four] = held as [Ask, Ask, Ask, Ask]
    await store.acquire(held)
    const client = await session()
    await client.query("begin; select 1 from holdfast_locks where key like 'kept locked %' for update")
    const steps = [
      store.acquire([askFor(one.key)]),
      store.acquire([askFor(two.key), askFor('not locked')]),
      store.renew([three]),
      store.release([four]),
    ].map((step) => failureWithin(3000, step))
    for (const outcome of await Promise.all(steps)) {
      expect(outcome).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/row .* stays locked; look in pg_stat_activity for a transaction/),
      })
    }
    await client.query('commit')
    expect(await store.release([one])).toMatchObject([{ released: true }])
  })

  it("batches in opposite order never stand in each other's way", async () => {
    const keys = Array.from({ length: 60 }, (_, i) => `row ${i}`)
    // A deadlock would be tried again inside the step, and nobody would know.
    const refusals: unknown[] = []
    const stores = [1, 2, 3, 4].map(() =>
      storeOn(refusalsOf(poolOn(url, { max: 2 }), refusals), { listen: false }),
    )
    const churn = async (store: Store, order: readonly string[]): Promise<void> => {
      for (let round = 0; round < 40; round += 1) {
        const asks = order.map((key) => askFor(key))
        await Promise.all([store.acquire(asks), store.renew(asks), store.release(asks)])
        await store.release(asks)
      }
    }
    await Promise.all(stores.map((store, i) => churn(store, i % 2 ? [...keys].reverse() : keys)))
    expect(refusals).toEqual([])
  })

  it('a deadlock with a transaction of somebody else is tried again inside the step: the call succeeds', async () => {
    const refusals: unknown[] = []
    // Who has waited this long looks for a deadlock, once, and is the one to give way.
    const pool = refusalsOf(poolOn(url, { options: '-c deadlock_timeout=1s' }), refusals)
    const store = storeOn(pool, { listen: false })
    const asks = [askFor('deadlock 1'), askFor('deadlock 2')]
    await store.acquire(asks)
    await store.release(asks)
    const other = await session()
    const lock = (key: string): Promise<unknown> =>
      other.query('select 1 from holdfast_locks where key = $1 for update', [key])
    await other.query("begin; set local deadlock_timeout = '1min'")
    await lock('deadlock 2')
    const answers = store.acquire(asks)
    await until('the step to wait', someoneWaits)
    await lock('deadlock 1')
    await other.query('commit')
    expect(await answers).toMatchObject([{ granted: true }, { granted: true }])
    expect(refusals).toEqual(['40P01'])
  })
})

it('a client of pg is asked one thing after the other, which its next version will insist on', async () => {
  const client = await session()
  const send = client.query.bind(client) as (query: unknown) => Promise<unknown>
  let underWay = 0
  let most = 0
  Object.assign(client, {
    query(one: unknown) {
      underWay += 1
      most = Math.max(most, underWay)
      return send(one).finally(() => (underWay -= 1))
    },
  })
  const store = storeOn(client)
  const asks = Array.from({ length: 20 }, (_, i) => askFor(`turn ${i}`))
  await Promise.all(asks.map((ask) => grantOf(store, ask)))
  await Promise.all(asks.map((ask) => store.release([ask])))
  expect(most).toBe(1)
})

it('a release notifies the process that waits for the key, and nobody of a key that is not waited for', async () => {
  // Found before the function of that name in pg_catalog.
  await query('create schema spy; create table spy.notices (channel text, payload text)')
  await query(`create function spy.pg_notify(channel text, payload text) returns void language plpgsql as $$
    begin
      insert into spy.notices values (channel, payload);
      perform pg_catalog.pg_notify(channel, payload);
    end $$`)
  const open = (): Locks => locksOn(storeOn(poolOn(url, { options: '-c search_path=spy,pg_catalog,public' })))
  const [holder, other] = [open(), open()]
  // Other than the echoes of those who listen.
  const notices = async (): Promise<unknown[]> =>
    (await query("select payload from spy.notices where payload <> '?'")).map(({ payload }) => payload)
  const waiting = async (key: string): Promise<boolean> => {
    const rows = await query('select 1 from holdfast_locks where key = $1 and cardinality(waiters) > 0', key)
    return rows.length > 0
  }

  const keys = Array.from({ length: 50 }, (_, i) => `quiet ${i}`)
  for (let round = 0; round < 2; round += 1)
    await Promise.all(keys.map((key) => holder.using(key, () => undefined)))
  // By itself, not in a batch.
  await holder.using('quiet', () => undefined)
  expect(await notices()).toEqual([])

  const left = await holder.acquire('left')
  const aborted = new AbortController()
  const leaving = other.acquire('left', { wait: '1m', signal: aborted.signal })
  await until('it to wait', () => waiting('left'))
  aborted.abort()
  await expect(leaving).rejects.toMatchObject({ code: 'LOCK_ABORTED' })
  await until('it to be off the list', async () => !(await waiting('left')))
  await left.release()
  expect(await notices()).toEqual([])

  const wanted = await holder.acquire('wanted')
  const next = other.acquire('wanted', { wait: '1m' })
  await until('it to wait', () => waiting('wanted'))
  await wanted.release()
  expect((await next).held).toBe(true)
  expect(await notices()).toEqual(['=wanted'])
})

describe('the sweep of records that have been free for long', () => {
  const statement = statementsFor(DEFAULT_NAMES).sweep.text

  /** One walk through the table, as a process makes it, with few records at a time. */
  async function walk(): Promise<number> {
    let steps = 0
    let ended = false
    const sweep = new Sweep(1, async (after) => {
      steps += 1
      const [row] = await query(statement, after, '7', String(HOUR_MS))
      ended = !row
      return row ? String(row.max) : null
    })
    await until('the walk', () => {
      if (steps === 0) sweep.poke()
      return ended
    })
    await sweep.stop()
    return steps
  }

  async function keysLeft(): Promise<unknown[]> {
    return (await query('select key from holdfast_locks order by key')).map(({ key }) => key)
  }

  it('G3 removes them in small steps, by several at once, and nothing else; tokens rise after it', async () => {
    const store = storeOn(url)
    await query('truncate holdfast_locks')
    const old = Array.from({ length: 30 }, (_, i) => askFor(`old ${i}`))
    const rest = ['ahead', 'expired', 'fresh', 'held', 'locked', 'recent'].map((key) => askFor(key))
    const grants = (await store.acquire([...old, ...rest])) as readonly { grant: number }[]
    await store.release([...old, ...rest.filter(({ key }) => key !== 'held' && key !== 'expired')])
    const age = (keys: string, hours: number): Promise<unknown> =>
      query(
        `update holdfast_locks set expires_at = expires_at - $1 * interval '1 h',
          grant_number = grant_number - $1 * 3600000000 where ${keys}`,
        hours,
      )
    await age("key like 'old %' or key in ('ahead', 'expired', 'locked')", 3)
    await age("key = 'recent'", 0.9)
    // Of a server whose clock was ahead, for one.
    await query("update holdfast_locks set grant_number = grant_number + 7200000000 * 3 where key = 'ahead'")
    // Held for longer than records are kept.
    await query("update holdfast_locks set grant_number = grant_number - 10 * 3600000000 where key = 'held'")
    const blocker = await session()
    await blocker.query("begin; select 1 from holdfast_locks where key = 'locked' for update")

    const steps = await Promise.all([walk(), walk(), walk(), walk()])
    // 35 records, 7 at a time. One walk alone may be over at once: others have what is left, for a moment.
    expect(steps.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(5)
    expect(await keysLeft()).toEqual(['ahead', 'fresh', 'held', 'locked', 'recent'])
    await blocker.query('rollback')
    await walk()
    expect(await keysLeft()).toEqual(['ahead', 'fresh', 'held', 'recent'])

    const [ahead] = await query("select grant_number from holdfast_locks where key = 'ahead'")
    expect(await grantOf(store, askFor('ahead'))).toBe(Number(ahead?.grant_number) + 1)
    for (const [i, { key }] of old.entries()) {
      expect(await grantOf(store, askFor(key))).toBeGreaterThan(grants[i]?.grant ?? Infinity)
    }
  })

  it('G1 G3 while keys are in use: nobody loses one, and every token is higher than the last', async () => {
    const store = storeOn(url)
    const highest = new Map<string, number>()
    let over = false
    const use = Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        const key = `used ${i}`
        while (!over) {
          const ask = askFor(key)
          const grant = await grantOf(store, ask)
          expect(grant).toBeGreaterThan(highest.get(key) ?? 0)
          highest.set(key, grant)
          expect(await store.release([ask])).toMatchObject([{ released: true }])
          // Free for an hour, as far as the sweep can tell.
          await query(
            `update holdfast_locks set expires_at = expires_at - interval '2 h',
              grant_number = grant_number - 7200000000 where key = $1 and owner is null`,
            key,
          )
        }
      }),
    )
    for (let i = 0; i < 20; i += 1) await Promise.all([walk(), walk()])
    over = true
    await use
    expect(highest.size).toBe(8)
  })
})
