import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import type { Got } from '../support/postgres-child.ts'
import { atEnd, failureOf, locksOn, observe, oneProcess, until } from '../support/postgres-stage.ts'

const url = await freshDatabase()
const query = observe(url)

async function waitersOf(key: string): Promise<number> {
  const [row] = await query('select cardinality(waiters) as n from holdfast_locks where key = $1', key)
  return Number(row?.n ?? 0)
}

describe('a holder', () => {
  it('G3 that is killed: the next gets in within the lease and a second, with a higher token', async () => {
    const leaseMs = 1500
    const doomed = await oneProcess()
    await doomed.call('start', url, {}, { service: 'doomed' })
    const before = await doomed.call<Got>('acquire', 'key', { lease: leaseMs })
    const locks = locksOn(url)
    const granted: unknown[] = []
    locks.on('granted', ({ takenOver, previous }) => granted.push({ takenOver, by: previous?.service }))
    const turn = locks.acquire('key', { wait: '30s' })
    await until('the waiter', async () => (await waitersOf('key')) === 1)
    await doomed.end()
    const start = performance.now()
    const lease = await turn
    expect(performance.now() - start).toBeLessThan(leaseMs + 1000)
    expect(lease.token).toBeGreaterThan(BigInt(before.token))
    expect(granted).toEqual([{ takenOver: true, by: 'doomed' }])
  })

  it.each([-5, 5])(
    'G11 whose clock is off by %i hours gets, keeps and loses leases like all others',
    async (hours) => {
      const leaseMs = 3000
      const key = `clock ${hours}`
      const skewed = await oneProcess()
      const shifted = await skewed.call<number>('shiftClock', hours * 3_600_000)
      expect(Math.abs(shifted - Date.now())).toBeGreaterThan(4 * 3_600_000)
      await skewed.call('start', url)
      const locks = locksOn(url)
      // Gets it when it is free, not before.
      const first = await locks.acquire(key)
      const turn = skewed.call<Got>('acquire', key, { wait: '20s', lease: leaseMs })
      await until('the waiter', async () => (await waitersOf(key)) === 1)
      const { since } = (await locks.inspect(key)) ?? { since: 0 }
      await first.release()
      const got = await turn
      expect(BigInt(got.token)).toBeGreaterThan(first.token)
      // Keeps it past its lease.
      const [row] = await query('select expires_at from holdfast_locks where key = $1', key)
      await until('renewals', async () => {
        const rows = await query(
          `select expires_at > $2::timestamptz + interval '1 s' as longer
        from holdfast_locks where key = $1`,
          key,
          row?.expires_at,
        )
        return rows[0]?.longer
      })
      expect(await skewed.call('isHeld', key)).toBe(true)
      expect(await locks.tryAcquire(key)).toBeNull()
      const record = await locks.inspect(key)
      expect(record?.since).toBeGreaterThanOrEqual(since)
      expect(Math.abs((record?.since ?? 0) - Date.now())).toBeLessThan(60_000)
      // Loses it no later and no sooner.
      skewed.signal('SIGSTOP')
      const start = performance.now()
      const { remainingMs } = (await locks.inspect(key)) ?? { remainingMs: 0 }
      const next = await locks.acquire(key, { wait: '10s' })
      const tookMs = performance.now() - start
      expect(tookMs).toBeGreaterThan(remainingMs - 20)
      expect(tookMs).toBeLessThan(leaseMs + 1000)
      expect(next.token).toBeGreaterThan(BigInt(got.token))
      skewed.signal('SIGCONT')
      await until('the news', async () => !(await skewed.call('isHeld', key)))
      expect(await skewed.call('release', key)).toBe(false)
      expect(next.held).toBe(true)
    },
  )

  it.each(['without', 'with'])(
    'that is paused past its lease and writes late, %s a guard',
    async (guarded) => {
      const key = `stock ${guarded}`
      await query('drop table if exists stock')
      await query('create table stock as select 100 as amount')
      const late = await oneProcess()
      await late.call('start', url)
      await late.call('acquire', key, { lease: 800 })
      late.signal('SIGSTOP')
      const locks = locksOn(url)
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      atEnd(() => client.end())
      const guard = fence(client)
      await guard.open()
      await locks.using(key, { wait: '20s' }, async (lease) => {
        await client.query('begin')
        await guard.check(client, key, lease)
        await client.query('update stock set amount = amount - 10')
        await client.query('commit')
      })
      late.signal('SIGCONT')
      const said = await late.call('write', url, key, 99, guarded === 'with')
      const { rows } = await client.query('select amount from stock')
      // Without one, what its successor has written is lost.
      expect([said, rows[0].amount]).toEqual(guarded === 'with' ? ['STALE_TOKEN', 90] : ['written', 99])
    },
  )
})

describe('a waiter', () => {
  it('G8 that is killed costs those behind it a poll, not a lease', async () => {
    const doomed = await oneProcess()
    await doomed.call('start', url)
    const [holders, locks] = [locksOn(url), locksOn(url, { poll: { max: '1s' } })]
    const lease = await holders.acquire('left')
    void doomed.call('acquire', 'left', { wait: '30s' }).catch(() => {})
    await until('the first', async () => (await waitersOf('left')) === 1)
    const turn = locks.acquire('left', { wait: '30s' })
    await until('the second', async () => (await waitersOf('left')) === 2)
    await doomed.end()
    const start = performance.now()
    await lease.release()
    await turn
    expect(performance.now() - start).toBeLessThan(2000)
  })

  it.each(['time', 'patience'])('that runs out of %s is taken off the list', async (what) => {
    const key = `given up, ${what}`
    const [holders, locks] = [locksOn(url), locksOn(url)]
    const lease = await holders.acquire(key)
    const controller = new AbortController()
    const wait = what === 'time' ? '5s' : '30s'
    const turn = failureOf(locks.acquire(key, { wait, signal: controller.signal }))
    await until('its name on the list', async () => (await waitersOf(key)) === 1)
    if (what === 'patience') controller.abort()
    expect(await turn).toMatchObject({
      code: what === 'time' ? 'LOCK_ACQUIRE_TIMEOUT' : 'LOCK_ABORTED',
    })
    await until('an empty list', async () => (await waitersOf(key)) === 0)
    expect(await lease.release()).toBe(true)
  })

  it('G8 is one of 30: they are served one after the other, and nobody asks in vain', async () => {
    const all = Array.from({ length: 30 }, () => locksOn(url, { poll: { max: '30s' } }))
    const holders = locksOn(url)
    const lease = await holders.acquire('queue')
    let inside = 0
    const turns = all.map((locks) =>
      locks.using('queue', { wait: '40s' }, async () => {
        inside += 1
        expect(inside).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 10))
        inside -= 1
      }),
    )
    await until('all on the list', async () => (await waitersOf('queue')) === 30)
    const calls = (): number => all.reduce((sum, locks) => sum + locks.stats().storeCalls, 0)
    const before = calls()
    const start = performance.now()
    await lease.release()
    await Promise.all(turns)
    // One who waited for its poll would do so for 15 s at least.
    expect(performance.now() - start).toBeLessThan(15_000)
    // One ask that is granted and one release for each. Who is woken too early asks once more, and who sleeps through
    // its turn on a busy machine may, too; waking all of them each time would make it 400 more.
    expect(calls() - before).toBeLessThan(75)
  })
})
