import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/store.ts'
import { gate, track, world } from './support/world.ts'

describe('Batcher', () => {
  it('gathers the calls of a tick into one', async () => {
    const { store, locks } = world()
    const keys = Array.from({ length: 50 }, (_, i) => `k${i}`)
    const leases = await Promise.all(keys.map((key) => locks.acquire(key)))
    await Promise.all(leases.map((lease) => lease.release()))
    expect(store.calls.slice(1)).toEqual([
      { step: 'acquire', items: 50 },
      { step: 'release', items: 50 },
    ])
    await locks.close()
  })

  it('of a crowd half goes first, and the rest when that is answered', async () => {
    const { time, store, locks } = world()
    await locks.using('open', () => {})
    const slow = gate()
    store.mood.acquire = slow.promise
    const all = Array.from({ length: 500 }, (_, i) => locks.acquire(`k${i}`))
    await time.settle()
    const sizes = (): number[] =>
      store.calls
        .filter(({ step }) => step === 'acquire')
        .slice(1)
        .map(({ items }) => items)
    expect(sizes()).toEqual([250])
    slow.open()
    await Promise.all(all)
    expect(sizes()).toEqual([250, 250])
    await locks.close()
  })

  it('a crowd stays together where a second round trip would be long', async () => {
    const { time, store, locks } = world()
    const slow = gate()
    for (let i = 0; i < 20; i += 1) {
      const late = gate()
      store.mood.acquire = late.promise
      const lease = locks.acquire('far away')
      await time.advance(50)
      late.open()
      await (await lease).release()
    }
    store.mood.acquire = slow.promise
    const before = store.count('acquire')
    const all = Array.from({ length: 500 }, (_, i) => locks.acquire(`k${i}`))
    await time.settle()
    slow.open()
    await Promise.all(all)
    expect(store.calls.filter(({ step }) => step === 'acquire').slice(before)).toEqual([
      { step: 'acquire', items: 500 },
    ])
    await locks.close()
  })

  it('gathers those that come while a call is under way, and splits at a maximum', async () => {
    const { time, store, locks } = world()
    await locks.using('open', () => {})
    const slow = gate()
    store.mood.acquire = slow.promise
    const all = [locks.acquire('first')]
    await time.settle()
    for (let i = 0; i < 2_500; i += 1) all.push(locks.acquire(`k${i}`))
    await time.advance(10)
    expect(store.count('acquire')).toBe(2)
    store.mood.acquire = 'work'
    slow.open()
    await Promise.all(all)
    expect(store.calls.filter(({ step }) => step === 'acquire').map(({ items }) => items)).toEqual([
      1, 1, 1_000, 1_000, 250, 250,
    ])
    await locks.close()
  })

  it('a call that hangs does not hold back those behind it', async () => {
    const { time, store, locks } = world()
    await locks.using('open', () => {})
    store.mood.acquire = 'hang'
    void track(locks.acquire('stuck'))
    await time.settle()
    store.mood.acquire = 'work'
    const behind = track(locks.acquire('k'))
    await time.advance(19)
    expect(behind.settled).toBe(false)
    await time.advance(2)
    expect(behind.value?.held).toBe(true)
    const closing = locks.close()
    await time.advance(3_000)
    await closing
  })

  it('one bad answer never touches its neighbours', async () => {
    const { time, store, locks } = world()
    const acquire = store.inner.acquire.bind(store.inner)
    const bad: Record<string, unknown> = {
      fault: { error: new Error('node 3 is down') },
      missing: undefined,
      null: null,
      malformed: { granted: true, grant: 'seven', previous: null },
      zero: { granted: true, grant: 0, previous: null },
      bigint: { granted: true, grant: 5n, previous: null },
      primitive: true,
      vague: { granted: false, holder: { service: 'x' } },
      nobody: { granted: false, retryInMs: 5, holder: null },
    }
    store.inner.acquire = async (asks) => {
      const answers = await acquire(asks)
      return answers.map((answer, i) => (asks[i]!.key in bad ? bad[asks[i]!.key] : answer) as Answer)
    }
    const tries = ['a', ...Object.keys(bad), 'b'].map((key) => track(locks.tryAcquire(key)))
    await time.settle()
    expect(tries.map(({ value, error }) => value?.key ?? (error as { code: string }).code)).toEqual([
      'a',
      ...Object.keys(bad).map(() => 'STORE_UNAVAILABLE'),
      'b',
    ])
    // What a malformed grant may have left is taken back.
    await time.advance(1_000)
    expect(await store.heldKeys()).toEqual(['a', 'b'])
    await locks.close()
  })

  it('a store that answers with something else than a list breaks nothing', async () => {
    const { time, store, locks } = world()
    for (const answers of [undefined, null, 5, 'granted', { 0: { granted: true } }]) {
      store.inner.acquire = async () => answers as never
      const trying = track(locks.tryAcquire('k'))
      await time.settle()
      expect(trying.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
    await locks.close()
  })

  it('too few answers are unknown outcomes, not grants', async () => {
    const { time, store, locks } = world()
    store.inner.acquire = async () => []
    const trying = track(locks.tryAcquire('k'))
    await time.settle()
    expect(trying.error).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { message: 'no answer for "k"' } })
    await locks.close()
  })

  it('10,000 leases are renewed in at most 20 calls a period', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    for (let i = 0; i < 100; i += 1) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => locks.acquire(`k${i}-${j}`)))
      await time.advance(100)
    }
    await time.advance(20_000)
    const before = store.count('renew')
    await time.advance(10_000)
    expect(store.count('renew') - before).toBeLessThanOrEqual(20)
    expect(locks.stats()).toMatchObject({ held: 10_000, lost: 0 })
    await locks.close()
  })
})
