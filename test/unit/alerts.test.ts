import { describe, expect, it } from 'vitest'
import { track } from './support/world.ts'
import { watched } from './support/alerts.ts'

describe('held too long', () => {
  it('is one alert for each key when it begins, and one when it is released', async () => {
    const { time, locks, watcher, alerts, heard } = watched({ heldTooLong: '1m' })
    const [a] = [await locks.acquire('a'), await locks.acquire('b')]
    await time.advance(59_000)
    expect(heard()).toEqual([])
    await time.advance(120_000)
    expect(heard()).toEqual(['held-too-long on a', 'held-too-long on b'])
    expect(alerts[0]).toMatchObject({ value: 60_000, limit: 60_000, lastedMs: 0 })
    expect(alerts[0]!.message).toBe('"a" has been held for 60 s; the limit is 60 s')
    expect(watcher.alerts.map(({ key, lastedMs }) => [key, lastedMs])).toEqual([
      ['a', 119_000],
      ['b', 119_000],
    ])
    await a.release()
    await time.advance(5000)
    expect(heard().slice(2)).toEqual(['held-too-long over a'])
    expect(alerts[2]).toMatchObject({ incident: alerts[0]!.incident, value: 175_000, lastedMs: 120_000 })
    expect(alerts[2]!.message).toBe('over after 120 s: "a" has been held for 175 s; the limit is 60 s')
    expect(alerts[1]!.incident).not.toBe(alerts[0]!.incident)
    await locks.close()
  })

  it('is said of a bounded number of keys, however many are held', async () => {
    const { time, locks, watcher, heard } = watched({ heldTooLong: '10s' }, { lease: '10m' })
    await Promise.all(Array.from({ length: 100 }, (_, i) => locks.acquire(`k${i}`)))
    await time.advance(30_000)
    expect(heard()).toHaveLength(20)
    expect(watcher.alerts).toHaveLength(20)
    await locks.close()
    expect(heard()).toHaveLength(40)
  })

  it('stays one incident while its token is rotated', async () => {
    const { time, locks, heard } = watched({ heldTooLong: '10s' })
    await locks.acquire('k', { lease: '10s', rotateToken: '5s' })
    await time.advance(60_000)
    expect(heard()).toEqual(['held-too-long on k'])
    await locks.close()
  })
})

describe('waited too long', () => {
  it('is on while somebody waits beyond the limit, and does not flap as they take turns', async () => {
    const { time, locks, other, heard } = watched({ waitedTooLong: '10s' })
    const theirs = await other().acquire('k')
    const queue = [1, 2].map(() => track(locks.acquire('k', { wait: '5m' })))
    await time.advance(60_000)
    expect(heard()).toEqual(['waited-too-long on k'])
    await theirs.release()
    await time.advance(20_000)
    expect(queue[0]!.settled).toBe(true)
    expect(heard()).toEqual(['waited-too-long on k'])
    await (queue[0]!.value as { release(): Promise<unknown> }).release()
    await time.advance(40_000)
    expect(heard()).toEqual(['waited-too-long on k', 'waited-too-long over k'])
    await locks.close()
  })
})

it('what is nearly over counts, too: there are never more than 20 incidents of a kind', async () => {
  const { time, locks, other, watcher } = watched({ waitedTooLong: '5s' })
  const theirs = other()
  for (const wave of [1, 2]) {
    const keys = Array.from({ length: 20 }, (_, i) => `${wave}:${i}`)
    const leases = await Promise.all(keys.map((key) => theirs.acquire(key)))
    const waiting = keys.map((key) => locks.acquire(key, { wait: '1m' }))
    await time.advance(11_000)
    expect(watcher.alerts).toHaveLength(20)
    for (const lease of leases) await lease.release()
    await Promise.all([...waiting, time.advance(1000)])
  }
  await locks.close()
})

describe('failure rate', () => {
  it('is the share of failed and timed out requests of the last minute', async () => {
    const { time, locks, other, alerts, heard } = watched({ failureRate: { share: 0.5, least: 10 } })
    await other({ lease: '1h' }).acquire('theirs', { renew: false, lease: '1h' })
    const fail = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i += 1) await locks.tryAcquire('theirs')
    }
    await fail(9)
    await time.advance(5000)
    expect(heard()).toEqual([])
    await fail(1)
    for (let i = 0; i < 10; i += 1) await locks.using('ours', async () => {})
    await time.advance(5000)
    expect(heard()).toEqual(['failure-rate on'])
    expect(alerts[0]).toMatchObject({ value: 0.5, limit: 0.5, key: null })
    expect(alerts[0]!.message).toBe(
      '50 % of 20 requests failed or timed out within a minute; the limit is 50 %',
    )
    await time.advance(60_000)
    expect(heard()).toEqual(['failure-rate on'])
    await time.advance(60_000)
    expect(heard()).toEqual(['failure-rate on', 'failure-rate over'])
    await locks.close()
  })

  it('that wavers around its limit is one incident', async () => {
    const { time, locks, other, heard } = watched({ failureRate: { share: 0.5, least: 1 } })
    await other().acquire('theirs', { renew: false, lease: '1h' })
    for (let i = 0; i < 40; i += 1) {
      if (i % 2 === 0) await locks.tryAcquire('theirs')
      else await locks.using('ours', async () => {})
      await time.advance(5000)
    }
    expect(heard()).toEqual(['failure-rate on'])
    await locks.close()
  })
})

describe('conflicts', () => {
  it('count those with other services within a minute, and not those with its own', async () => {
    const { time, locks, other, alerts, heard } = watched({ conflicts: 5 })
    const [stock, own] = [other({ service: 'stock' }), other({ service: 'one', instance: 'another' })]
    await stock.acquire('theirs', { renew: false, lease: '1h' })
    await own.acquire('ours', { renew: false, lease: '1h' })
    for (let i = 0; i < 20; i += 1) await locks.tryAcquire('ours')
    for (let i = 0; i < 4; i += 1) await locks.tryAcquire('theirs')
    await time.advance(5000)
    expect(heard()).toEqual([])
    await locks.tryAcquire('theirs')
    await time.advance(5000)
    expect(heard()).toEqual(['conflicts on'])
    expect(alerts[0]).toMatchObject({ value: 5, limit: 5 })
    await time.advance(100_000)
    expect(heard()).toEqual(['conflicts on', 'conflicts over'])
    await locks.close()
  })
})

describe('renewals failing, and lost', () => {
  it('are told of renewals that fail for long, before the lease is lost by it', async () => {
    const { time, locks, store, heard } = watched({ renewalsFailing: '15s', lost: 1 })
    const lease = await locks.acquire('k', { lease: '1m' })
    store.mood.renew = 'fail'
    await time.advance(45_000)
    expect(heard()).toEqual(['renewals-failing on'])
    expect(lease.held).toBe(true)
    await time.advance(30_000)
    expect(heard()).toEqual(['renewals-failing on', 'lost on'])
    await time.advance(120_000)
    expect(heard().slice(2).sort()).toEqual(['lost over', 'renewals-failing over'])
    await locks.close()
  })

  it('are not told of one flicker, nor of what was before the watch', async () => {
    const { time, locks, store, watcher, alerts } = watched({})
    await locks.acquire('k', { lease: '1s' })
    store.mood.renew = 'fail'
    await time.advance(10_000)
    store.mood.renew = 'work'
    expect(locks.stats().lost).toBe(1)
    await time.advance(120_000)
    watcher.configure({ renewalsFailing: '15s', lost: 1 })
    await locks.acquire('k', { lease: '30s' })
    store.mood.renew = 'fail'
    await time.advance(12_000)
    store.mood.renew = 'work'
    await time.advance(60_000)
    expect(locks.stats().renewalFailures).toBeGreaterThan(0)
    expect(alerts.filter(({ kind }) => kind === 'renewals-failing' || kind === 'lost')).toEqual([])
    await locks.close()
  })

  it('are not told of a renewal that failed once and then went well, however long the lease is', async () => {
    for (const lease of ['102s', '9m'] as const) {
      const { time, locks, store, heard } = watched({ renewalsFailing: '15s' })
      await locks.acquire('k', { lease })
      store.mood.renew = 'fail'
      while (locks.stats().renewalFailures === 0) await time.advance(50)
      store.mood.renew = 'work'
      await time.advance(600_000)
      expect([locks.stats().renewalFailures, heard()]).toEqual([1, []])
      await locks.close()
    }
  })

  it('are over when no lease is left whose renewal failed, though none is renewed any more', async () => {
    const { time, locks, store, heard } = watched({ renewalsFailing: '15s' })
    const slow = await locks.acquire('slow', { lease: '1m' })
    store.mood.renew = 'fail'
    await time.advance(45_000)
    expect(heard()).toEqual(['renewals-failing on'])
    store.mood.renew = 'work'
    await slow.release()
    // Something is held at every look, and never for long enough to be renewed.
    for (let i = 0; i < 50; i += 1) {
      const quick = await locks.acquire(`quick ${i}`, { lease: '1m' })
      await time.advance(1000)
      void quick.release()
    }
    expect(heard()).toEqual(['renewals-failing on', 'renewals-failing over'])
    await locks.close()
  })

  it('are told of some that keep failing while others go well', async () => {
    const { time, locks, store, heard } = watched({ renewalsFailing: '15s' })
    await locks.acquire('k', { lease: '1m' })
    await locks.acquire('other', { lease: '1s' })
    store.mood.renew = 'work'
    const { renew } = store
    store.renew = (renewals) =>
      renewals.some(({ key }) => key === 'k') ? Promise.reject(new Error('no')) : renew.call(store, renewals)
    await time.advance(50_000)
    expect(heard()).toEqual(['renewals-failing on'])
    await locks.close()
  })
})
