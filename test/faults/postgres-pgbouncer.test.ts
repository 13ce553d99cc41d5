import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { startPgBouncer } from '../servers/pgbouncer.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import { everyDriver as transactions, type Tx } from '../support/transaction-drivers.ts'
import { atEnd, atLast, failureWithin, locksOn, observe, storeOn, until } from '../support/postgres-stage.ts'
import { ASLEEP, sessionsThat } from '../support/pg-sessions.ts'

const direct = await freshDatabase()
const query = observe(direct)
// Few connections, so that clients really share them.
const pooler = await startPgBouncer(direct, { mode: 'transaction', settings: { default_pool_size: 3 } })
atLast(() => pooler.stop())

/** What the shared connections have been left with, each asked in its turn. */
async function leftBehind(): Promise<{ channels: unknown[]; settings: Set<unknown> }> {
  const client = new pg.Client({ connectionString: pooler.url })
  await client.connect()
  const channels: unknown[] = []
  const settings = new Set<unknown>()
  try {
    for (let i = 0; i < 30; i += 1) {
      const { rows } = await client.query(`select array(select pg_listening_channels()) as channels,
        concat_ws(' ', current_setting('lock_timeout'), current_setting('synchronous_commit'),
          current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')) as settings`)
      channels.push(...rows[0].channels)
      settings.add(rows[0].settings)
    }
  } finally {
    await client.end()
  }
  return { channels, settings }
}

async function waitersOf(key: string): Promise<number> {
  const [row] = await query('select cardinality(waiters) as n from holdfast_locks where key = $1', key)
  return Number(row?.n ?? 0)
}

describe.each(everyClient)('PgBouncer in transaction mode, with $name', (client) => {
  it('G8 waiters are served by polling, and no LISTEN or setting is left on what others use', async () => {
    const [locks, others] = [locksOn(storeOn(await client.open(pooler.url))), locksOn(pooler.url)]
    const key = `polled for by ${client.name}`
    for (let i = 0; i < 5; i += 1) {
      const lease = await others.acquire(key)
      const turn = locks.acquire(key, { wait: '10s' })
      await until('the waiter', async () => (await others.inspect(key))?.wanted)
      const start = performance.now()
      expect(await lease.release()).toBe(true)
      const next = await turn
      expect(performance.now() - start).toBeLessThan(2000)
      expect(next.token).toBeGreaterThan(lease.token)
      await next.release()
      expect(await waitersOf(key)).toBe(0)
    }
    expect(await leftBehind()).toEqual({ channels: [], settings: new Set(['0 on 0 0']) })
  })

  it('G8 with the URL of the server itself waiters are woken by push', async () => {
    const store = storeOn(await client.open(pooler.url), { listen: direct })
    // A poll so slow that only push can be meant.
    const locks = locksOn(store, { poll: { max: '20s' } })
    const others = locksOn(pooler.url)
    const key = `pushed to ${client.name}`
    for (let i = 0; i < 3; i += 1) {
      const lease = await others.acquire(key)
      const turn = locks.acquire(key, { wait: '30s' })
      await until('its name on the list', async () => (await waitersOf(key)) === 1)
      const start = performance.now()
      await lease.release()
      await (await turn).release()
      expect(performance.now() - start).toBeLessThan(2000)
    }
    expect((await leftBehind()).channels).toEqual([])
  })

  it('G1 many tasks on few shared connections: each key is held once, and no call fails', async () => {
    const stores = await Promise.all([1, 2, 3].map(async () => storeOn(await client.open(pooler.url))))
    const all = stores.map((store) => locksOn(store))
    const inside = new Map<string, number>()
    await Promise.all(
      all.flatMap((locks) =>
        Array.from({ length: 30 }, (_, i) =>
          locks.using(`shared ${i % 10}`, { wait: '30s' }, async ({ key }) => {
            inside.set(key, (inside.get(key) ?? 0) + 1)
            expect(inside.get(key)).toBe(1)
            await new Promise((resolve) => setTimeout(resolve, 5))
            inside.set(key, 0)
          }),
        ),
      ),
    )
    expect(all.map((locks) => locks.stats().storeFailures)).toEqual([0, 0, 0])
  })
})

describe.each(transactions)('a transaction through PgBouncer in transaction mode, on $name', (driver) => {
  it('is checked, stored and undone as on the server itself, and leaves no setting behind', async () => {
    await query('create table if not exists account (n int not null)')
    await query('truncate account')
    await query('drop table if exists holdfast_fence')
    // For postgres.js, as the documents say.
    const opened = await driver.open(`${pooler.url}?prepare=false`, 4)
    atEnd(() => opened.end())
    const locks = locksOn(memoryStore())
    const add = (n: number) => (tx: Tx) => tx.run(`insert into account values (${n})`)
    // More of them than the pooler has connections.
    await Promise.all([1, 2, 3, 4, 5, 6].map((n) => opened.transaction(locks, `key ${n}`, add(n))))
    const own = new Error('own')
    const failed = opened.transaction(locks, 'key', async (tx) => {
      await add(7)(tx)
      throw own
    })
    await expect(failed).rejects.toBe(own)
    await opened.transaction(locks, 'key', add(8))
    await query(`update holdfast_fence set token = ${2n ** 62n} where resource = 'key'`)
    await expect(opened.transaction(locks, 'key', add(9))).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    // The process that the pooler tells is not the server's: it is the server that is asked.
    const sleep = async (tx: Tx): Promise<void> => {
      await add(10)(tx)
      await tx.run('select pg_sleep(9)')
    }
    const lost = opened.transaction(locks, 'lost', sleep, { lease: 9000 })
    lost.catch(() => undefined)
    await until('it to sleep', () => sessionsThat(query, ASLEEP))
    await locks.forceRelease('lost')
    // One connection alone has to wait for the limit of the statement: a third of the lease.
    expect(await failureWithin(driver.pooled ? 1500 : 5000, lost)).toMatchObject({ code: 'LOCK_LOST' })
    const stored = await query('select n from account order by n')
    expect(stored.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 8])
    expect((await leftBehind()).settings).toEqual(new Set(['0 on 0 0']))
  })
})

describe('a server whose settings PgBouncer does not pass on', () => {
  it('is used without them: a URL works through a pooler that refuses unknown parameters', async () => {
    const strict = await startPgBouncer(direct, { mode: 'session' })
    try {
      const locks = locksOn(strict.url)
      const lease = await locks.acquire('through a session')
      expect(await lease.release()).toBe(true)
      await locks.close()
    } finally {
      await strict.stop()
    }
  })
})
