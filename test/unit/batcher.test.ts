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

  it('tells a crowd in groups, so that the store is busy with the first while the others are told', async () => {
    const { store, locks } = world()
    await locks.using('open', () => {})
    const before = store.calls.length
    const pair = async (key: string): Promise<void> => {
      const lease = await locks.acquire(key)
      await lease.release()
    }
    await Promise.all(Array.from({ length: 100 }, (_, i) => pair(`k${i}`)))
    expect(store.calls.slice(before)).toEqual([
      { step: 'acquire', items: 100 },
      { step: 'release', items: 48 },
      { step: 'release', items: 52 },
    ])
    await locks.close()
  })

  it('a crowd stays together where a second round trip would be long', async () => {
    const { time, store, locks } = world()
    for (let i = 0; i < 20; i += 1) {
      const late = gate()
      store.mood.acquire = late.promise
      const lease = locks.acquire('far away')
      await time.advance(50)
      late.open()
      await (await lease).release()
    }
    const slow = gate()
    store.mood.acquire = slow.promise
    const before = store.calls.length
    const pair = async (key: string): Promise<void> => {
      const lease = await locks.acquire(key)
      await lease.release()
    }
    const first = locks.acquire('first')
    await time.settle()
    const all = Array.from({ length: 500 }, (_, i) => pair(`k${i}`))
    await time.settle()
    slow.open()
    await Promise.all(all)
    expect(store.calls.slice(before)).toEqual([
      { step: 'acquire', items: 1 },
      { step: 'acquire', items: 500 },
      { step: 'release', items: 500 },
    ])
    await (await first).release()
    await locks.close()
  })

  it('gathers those that come while a call is under way', async () => {
    const { time, store, locks } = world()
    await locks.using('open', () => {})
    const slow = gate()
    store.mood.acquire = slow.promise
    const all = [locks.acquire('first')]
    await time.settle()
    for (let i = 0; i < 47; i += 1) {
      all.push(locks.acquire(`k${i}`))
      await time.settle()
    }
    await time.advance(10)
    expect(store.count('acquire')).toBe(2)
    slow.open()
    await Promise.all(all)
    expect(itemsOf(store.calls, 'acquire')).toEqual([1, 1, 47])
    await locks.close()
  })

  it('so many as are company enough do not wait for a call that is under way, of which there are few', async () => {
    const { time, store, locks } = world()
    await locks.using('open', () => {})
    const slow = gate()
    store.mood.acquire = slow.promise
    const all = [locks.acquire('first')]
    await time.settle()
    for (let i = 0; i < 4; i += 1) {
      for (let j = 0; j < 48; j += 1) all.push(locks.acquire(`k${i}:${j}`))
      await time.settle()
    }
    expect(itemsOf(store.calls, 'acquire')).toEqual([1, 1, 48, 48])
    slow.open()
    await Promise.all(all)
    expect(itemsOf(store.calls, 'acquire')).toEqual([1, 1, 48, 48, 96])
    await locks.close()
  })

  it('splits at a maximum', async () => {
    const { store, locks } = world()
    await locks.using('open', () => {})
    await Promise.all(Array.from({ length: 2500 }, (_, i) => locks.acquire(`k${i}`)))
    expect(itemsOf(store.calls, 'acquire')).toEqual([1, 1000, 1000, 500])
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

function itemsOf(
  calls: readonly { readonly step: string; readonly items: number }[],
  step: string,
): number[] {
  return calls.filter((call) => call.step === step).map(({ items }) => items)
}
