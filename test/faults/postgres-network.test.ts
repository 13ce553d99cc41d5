import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { failureWithin, locksOn, observe, proxyTo, storeOn, until } from '../support/postgres-stage.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import { holdAndWait } from '../support/stage.ts'

const url = await freshDatabase()
const query = observe(url)
/** No poll of core is as fast in these tests. */
const PUSHED_MS = 300

/** Backends that listen on a channel of a waiting process. */
async function listeners(): Promise<number[]> {
  const rows = await query(
    `select pid from pg_stat_activity where datname = current_database() and query ~ '^listen "holdfast:'`,
  )
  return rows.map(({ pid }) => Number(pid))
}

/** Beside the proxy, so that only the waiter has its troubles. */
function heldBeside(waiters: Locks, key: string): Promise<{ free(): Promise<number> }> {
  return holdAndWait(locksOn(url), waiters, key)
}

/** How long the middle one of several turns takes to pass from one process to another. */
async function handOver(waiters: Locks, key: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 5; i += 1) {
    const { free } = await heldBeside(waiters, key)
    await until('a name on the list', async () => {
      const [row] = await query('select cardinality(waiters) as n from holdfast_locks where key = $1', key)
      return row?.n === 1
    })
    times.push(await free())
  }
  return times.sort((a, b) => a - b)[2] ?? Infinity
}

const pooled = everyClient.filter((client) => client.pooled)

describe.each(pooled)('the network between $name and PostgreSQL', (client) => {
  it('G7 is cut: leases are kept, calls work, and waiters are woken by push again', async () => {
    const { proxy, url: proxied } = await proxyTo(url)
    // A poll so slow that only push can be meant.
    const locks = locksOn(storeOn(await client.open(proxied)), { lease: '9s', poll: { max: '20s' } })
    const key = `cut from ${client.name}`
    expect(await handOver(locks, `${key}, waited for`)).toBeLessThan(PUSHED_MS)
    const lease = await locks.acquire(key)
    for (let i = 0; i < 3; i += 1) {
      proxy.cut()
      await locks.acquire(`${key} ${i}`)
    }
    const { renewals } = locks.stats()
    await until('a renewal', () => locks.stats().renewals > renewals)
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe(true)
    await until('a listener', async () => (await listeners()).length === 1)
    expect(await handOver(locks, `${key}, waited for`)).toBeLessThan(PUSHED_MS)
  })

  it('G2 G7 is silent: calls fail in time, the signal comes, and later calls have new connections', async () => {
    const { proxy, url: proxied } = await proxyTo(url)
    const store = storeOn(await client.open(proxied))
    const locks = locksOn(store, { lease: '2s', poll: { max: '20s' } })
    const key = `silence before ${client.name}`
    expect(await handOver(locks, `${key}, waited for`)).toBeLessThan(PUSHED_MS)
    const lease = await locks.acquire(key)
    proxy.freeze()
    const error = await failureWithin(3500, store.list({ limit: 1 }))
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/answer/),
      cause: expect.any(Error),
    })
    await until('the signal', () => lease.signal.aborted)
    // What was open stays dead, and nobody is told.
    proxy.strand()
    proxy.thaw()
    await until('a call that works', () => locks.tryAcquire('any').then(Boolean, () => false), 10_000)
    expect((await locks.acquire(key, { wait: '10s' })).token).toBeGreaterThan(lease.token)
  })

  it('G7 G8 the listening backend is ended: who waits gets the key all the same, and another listens', async () => {
    const locks = locksOn(storeOn(await client.open(url)), { poll: { max: '20s' } })
    const key = `ended under ${client.name}`
    expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
    const { free } = await heldBeside(locks, key)
    await until('a listener', async () => (await listeners()).length === 1)
    const [old] = await listeners()
    await query('select pg_terminate_backend($1)', old)
    await until('another listener', async () => (await listeners()).some((pid) => pid !== old))
    expect(await free()).toBeLessThan(2000)
    expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
  })
})

describe('a listening connection that died in silence', () => {
  it('G8 costs a poll, and is found out and replaced', async () => {
    // All clients at once, as it takes most of half a minute.
    const waiters = await Promise.all(
      pooled.map(async (client) => {
        const { proxy, url: proxied } = await proxyTo(url)
        // Steps go straight to the server, only what is heard comes through the proxy.
        const store = storeOn(await client.open(url), { listen: proxied })
        const locks = locksOn(store, { poll: { max: '1s' } })
        const key = `deaf ${client.name}`
        expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
        return { locks, key, proxy }
      }),
    )
    const old = await listeners()
    for (const { proxy } of waiters) proxy.strand()
    for (const { locks, key } of waiters)
      expect(await (await heldBeside(locks, key)).free()).toBeLessThan(2000)
    await until(
      'other listeners',
      async () => (await listeners()).filter((pid) => !old.includes(pid)).length === waiters.length,
      25_000,
    )
    for (const { locks, key } of waiters) expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
  })
})
