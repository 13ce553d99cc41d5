import { describe, expect, it } from 'vitest'
import { createLocks, type LockStats } from '../../src/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { Conflicts } from '../../src/monitor/conflicts.ts'
import { gate, track, world } from './support/world.ts'

const matrix = ({ conflicts }: LockStats): unknown[] =>
  conflicts.map(({ waiter, holder, count }) => [waiter, holder, count])

describe('stats: requests', () => {
  it('each ends in exactly one way, and none is left over', async () => {
    const { time, locks, other } = world({ wait: '1s' })
    const two = other()
    await locks.using('k', async () => locks.using('k', () => {}))
    const theirs = await two.acquire('k')
    void track(locks.acquire('k'))
    const stop = new AbortController()
    void track(locks.acquire('k', { signal: stop.signal }))
    await locks.tryAcquire('k')
    await time.settle()
    expect(locks.stats()).toMatchObject({ waiting: 2, held: 0 })
    stop.abort()
    await time.advance(1_000)
    await theirs.release()
    const lease = await locks.acquire('k')
    expect(locks.stats()).toMatchObject({ waiting: 0, held: 1 })
    await lease.release()
    const { requests, granted, reentered, timedOut, aborted, failed, held } = locks.stats()
    expect({ requests, granted, reentered, timedOut, aborted, failed, held }).toEqual({
      requests: 6,
      granted: 3,
      reentered: 1,
      timedOut: 2,
      aborted: 1,
      failed: 0,
      held: 0,
    })
    await Promise.all([locks.close(), two.close()])
  })

  it('what is held and what waits is right after each way to end a lease', async () => {
    const { time, locks, other } = world({ lease: '1s', wait: '10s' })
    const two = other()
    const now = (): [number, number] => [locks.stats().held, locks.stats().waiting]
    const lingering = await locks.acquire('a', { atLeast: '500ms' })
    await lingering.release()
    expect(now()).toEqual([0, 0])
    const dies = await locks.acquire('b', { renew: false })
    await time.advance(1_000)
    expect(dies.held).toBe(false)
    expect(now()).toEqual([0, 0])
    await locks.acquire('c')
    await two.forceRelease('c')
    await locks.acquire('d')
    void track(locks.acquire('d'))
    void track(locks.acquire('d'))
    expect(now()).toEqual([2, 2])
    await time.advance(1_000)
    expect(now()).toEqual([1, 2])
    await locks.close()
    expect(now()).toEqual([0, 0])
    await two.close()
  })
})

describe('stats: conflicts', () => {
  it('have one row for each holder, whatever a service is called', () => {
    const conflicts = new Conflicts('other')
    for (let i = 0; i < 70; i += 1) conflicts.add(`service ${i}`, 1)
    conflicts.add(null, 3)
    const rows = conflicts.snapshot()
    expect(new Set(rows.map(({ holder }) => holder)).size).toBe(rows.length)
    expect(rows[0]).toEqual({ waiter: 'other', holder: 'other', count: 9 })
  })

  it('count a request once, with the service of the first holder it met', async () => {
    const { time, locks, other } = world({ wait: '10s' })
    const billing = other({ service: 'billing' })
    const theirs = await billing.acquire('k')
    // All three of one tick: the first asks, and the others wait behind it for the same holder.
    const mine = [1, 2, 3].map(() => track(locks.using('k', async () => {})))
    await time.settle()
    expect(matrix(locks.stats())).toEqual([['one', 'billing', 3]])
    await time.advance(2_000)
    await theirs.release()
    await time.advance(3_000)
    expect(mine.every(({ settled, error }) => settled && !error)).toBe(true)
    expect(matrix(locks.stats())).toEqual([['one', 'billing', 3]])
    expect(matrix(billing.stats())).toEqual([])
    await Promise.all([locks.close(), billing.close()])
  })

  it('in one process are with itself, also of those who came while the first was asking', async () => {
    const { time, store, locks } = world()
    const slow = gate()
    store.mood.acquire = slow.promise
    const all = [1, 2, 3].map(() => locks.using('k', async () => {}))
    await time.settle()
    expect(matrix(locks.stats())).toEqual([])
    slow.open()
    await Promise.all(all)
    expect(matrix(locks.stats())).toEqual([['one', 'one', 2]])
    const lease = await locks.acquire('k')
    await locks.tryAcquire('k')
    expect(matrix(locks.stats())).toEqual([['one', 'one', 3]])
    await lease.release()
    await locks.close()
  })

  it('of another instance of the same service are with itself', async () => {
    const { locks, other } = world()
    const twin = other({ service: 'one' })
    const lease = await twin.acquire('k')
    await locks.tryAcquire('k')
    expect(matrix(locks.stats())).toEqual([['one', 'one', 1]])
    await lease.release()
    await Promise.all([locks.close(), twin.close()])
  })

  it('of a store that is down are none', async () => {
    const { time, store, locks } = world({ wait: '2s' })
    store.mood.acquire = 'fail'
    const both = [track(locks.acquire('k')), track(locks.acquire('k'))]
    await time.advance(3_000)
    expect(both.map(({ error }) => (error as { code?: string }).code)).toEqual([
      'STORE_UNAVAILABLE',
      'STORE_UNAVAILABLE',
    ])
    expect(matrix(locks.stats())).toEqual([])
    await locks.close()
  })

  it('of several keys count once for a key that is waited for, and for each that a try is refused', async () => {
    const { time, locks, other } = world({ wait: '10s' })
    const two = other()
    const theirs = await Promise.all(['b', 'c'].map((key) => two.acquire(key)))
    expect(await locks.tryAcquire(['a', 'b', 'c'])).toBeNull()
    expect(matrix(locks.stats())).toEqual([['one', 'two', 2]])
    const all = track(locks.acquire(['a', 'b']))
    await time.advance(1_000)
    expect(matrix(locks.stats())).toEqual([['one', 'two', 3]])
    await Promise.all(theirs.map((lease) => lease.release()))
    await time.advance(2_000)
    expect(all.value).toBeDefined()
    const counts = Object.fromEntries(
      locks.stats().busiest.map(({ key, requests, conflicts }) => [key, [requests, conflicts]]),
    )
    expect(counts).toEqual({ a: [2, 0], b: [2, 2], c: [1, 1] })
    await Promise.all([locks.close(), two.close()])
  })

  it('name 64 services of holders, and the rest as other', async () => {
    const { locks, other } = world()
    for (let i = 0; i < 70; i += 1) {
      const client = other({ service: `service ${i}` })
      const lease = await client.acquire('k')
      await locks.tryAcquire('k')
      await lease.release()
      await client.close()
    }
    const { conflicts } = locks.stats()
    expect(conflicts).toHaveLength(65)
    expect(conflicts[0]).toEqual({ waiter: 'one', holder: 'other', count: 6 })
    await locks.close()
  })
})

describe('stats: busy keys', () => {
  it('tell how often a key was asked for, by how many in vain, and how long they waited', async () => {
    const { time, locks } = world({ wait: '300ms' })
    const lease = await locks.acquire('hot')
    void track(locks.acquire('hot'))
    await time.advance(300)
    void track(locks.acquire('hot', { wait: '1s' }))
    await time.advance(200)
    await lease.release()
    await locks.using('cold', () => locks.using('cold', () => {}))
    expect(locks.stats().busiest).toEqual([
      { key: 'hot', requests: 3, overcount: 0, conflicts: 2, waitedMs: 500 },
      { key: 'cold', requests: 2, overcount: 0, conflicts: 0, waitedMs: 0 },
    ])
    await locks.close()
  })
})

describe('stats: steps', () => {
  it('tell calls, keys, sizes and times of each', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    await locks.using('opens the store', () => {})
    const leases = await Promise.all(Array.from({ length: 20 }, (_, i) => locks.acquire(`k${i}`)))
    await time.advance(1_100)
    await Promise.all(leases.map((lease) => lease.release()))
    await locks.list()
    const { steps, storeCalls, storeLatency, renewals } = locks.stats()
    expect(steps.acquire).toMatchObject({
      calls: 2,
      keys: 21,
      failures: 0,
      sizes: { max: 20, p50: 1, p99: 20 },
    })
    expect(steps.acquire.sizes.buckets).toEqual([
      { le: 1, count: 1 },
      { le: 32, count: 1 },
    ])
    expect(steps.renew).toMatchObject({ keys: renewals, failures: 0 })
    expect(renewals).toBe(20)
    expect(steps.release).toMatchObject({ calls: 2, keys: 21 })
    expect(storeCalls).toBe(steps.acquire.calls + steps.renew.calls + steps.release.calls + 1)
    expect(storeLatency.count).toBe(storeCalls)
    store.mood.acquire = 'fail'
    await expect(locks.tryAcquire('k')).rejects.toThrow('failed')
    expect(locks.stats().steps.acquire).toMatchObject({ calls: 3, failures: 1, latency: { count: 2 } })
    await locks.close()
  })
})

describe('stats: pool', () => {
  const withPool = (pool: unknown): ReturnType<typeof createLocks> =>
    createLocks(Object.assign(memoryStore(), { pool }) as never, { logger: null })

  it('is what the store tells, and null where it tells nothing, throws or tells nonsense', async () => {
    const said = [
      [() => ({ open: 4, idle: 1, waiting: 2, secret: 1 }), { open: 4, idle: 1, waiting: 2 }],
      [undefined, null],
      [() => null, null],
      [() => ({ open: 4 }), null],
      [() => 'full', null],
      [
        () => {
          throw new Error('broken')
        },
        null,
      ],
    ] as const
    for (const [pool, expected] of said) {
      const locks = withPool(pool)
      expect(locks.stats().pool).toEqual(expected)
      await locks.close()
    }
  })
})

describe('stats: the longest', () => {
  it('names what has been held or waited for beyond a limit, the longest first', async () => {
    const { time, locks } = world({ wait: '1m' })
    await locks.acquire('a', { context: 'nightly' })
    await time.advance(2_000)
    const b = await locks.acquire('b')
    void track(locks.acquire('a'))
    await time.advance(500)
    void track(locks.acquire('a'))
    await locks.acquire('c')
    expect(locks.longest({ heldMs: 500, waitedMs: 1_000 }, 10)).toEqual({
      held: [
        { key: 'a', token: expect.any(BigInt), heldMs: 2_500, context: 'nightly' },
        { key: 'b', token: b.token, heldMs: 500, context: null },
      ],
      waiting: [],
      unrenewed: 0,
    })
    expect(locks.longest({ heldMs: 0, waitedMs: 0 }, 1)).toMatchObject({
      held: [{ key: 'a' }],
      waiting: [{ key: 'a', waitedMs: 500 }],
    })
    await locks.close()
    expect(locks.longest({ heldMs: 0, waitedMs: 0 }, 10)).toEqual({
      held: [],
      waiting: [],
      unrenewed: 0,
    })
  })
})
