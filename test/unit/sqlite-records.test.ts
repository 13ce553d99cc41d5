import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Ask, Store } from '../../src/store.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { databaseAt, freshPath, openStoreAt } from '../support/sqlite-stage.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const START = Date.UTC(2030, 0)
const HOUR = 3_600_000

interface Scene {
  readonly path: string
  readonly store: Store
  at: number
}

/** A store on a clock that is moved by hand. */
async function scene(): Promise<Scene> {
  const path = freshPath()
  const stage: Scene = { path, store: undefined as never, at: START }
  return Object.assign(stage, { store: await openStoreAt(path, { now: () => stage.at }) })
}

async function grantedTo(store: Store, key: string): Promise<Ask> {
  const ask = askFor(key, { leaseMs: 1000 })
  await grantOf(store, ask)
  return ask
}

function rowsOf(path: string): number {
  return (databaseAt(path).prepare('select count(*) as n from holdfast_locks').get() as { n: number }).n
}

describe('sqlite records', () => {
  it('ends a lease at its very millisecond, and says who had it', async () => {
    const stage = await scene()
    const first = askFor('key', { leaseMs: 1000, holder: { service: 's', instance: 'gone', context: 'c' } })
    await grantOf(stage.store, first)
    stage.at += 999
    expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: false, retryInMs: 1 })
    stage.at += 1
    expect(await stage.store.renew([{ ...first, leaseMs: 1000 }])).toEqual([{ renewed: false }])
    expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: true, previous: first.holder })
  })

  it('frees a key whose lease has run out when its owner releases it, but says that it was lost', async () => {
    const stage = await scene()
    const first = askFor('key', { leaseMs: 1000 })
    await grantOf(stage.store, first)
    stage.at += 1000
    expect(await stage.store.release([first])).toEqual([{ released: false, wanted: false }])
    expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: true, previous: null })
  })

  it('G3 tokens rise past release, expiry and eviction while the clock stands still or runs back', async () => {
    const stage = await scene()
    let last = 0
    const rises = async (key: string, leaseMs = 1000): Promise<void> => {
      const ask = askFor(key, { leaseMs })
      const grant = await grantOf(stage.store, ask)
      expect(grant).toBeGreaterThan(last)
      last = grant
      if (key === 'released') await stage.store.release([ask])
      if (key === 'evicted') await stage.store.evict(key)
    }
    for (let round = 0; round < 3; round += 1) {
      for (const key of ['released', 'evicted', 'released']) await rises(key)
      stage.at -= HOUR
    }
    // Exact far beyond 32 bits.
    expect(last).toBeGreaterThan(START * 1000)
    expect(Number.isSafeInteger(last)).toBe(true)
  })

  it('G3 a rotated token is passed on by the fence', async () => {
    const stage = await scene()
    const ask = askFor('key')
    await grantOf(stage.store, ask)
    const renewals = Array.from({ length: 5 }, () => stage.store.renew([{ ...ask, rotate: true }]))
    const grants = (await Promise.all(renewals)).map(([answer]) => (answer as { grant: number }).grant)
    expect(grants).toEqual([...new Set(grants)].sort((a, b) => a - b))
    await stage.store.release([ask])
    expect(await grantOf(stage.store, askFor('key'))).toBeGreaterThan(grants.at(-1) ?? Infinity)
  })

  it('keeps a key for at most one more lease when the clock is put back', async () => {
    const stage = await scene()
    await grantOf(stage.store, askFor('key', { leaseMs: 5000 }))
    stage.at -= HOUR
    expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: false, retryInMs: 5000 })
    stage.at += 4999
    expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: false, retryInMs: 1 })
    stage.at += 1
    await grantOf(stage.store, askFor('key'))
  })

  it('lets a holder renew after the clock was put back', async () => {
    const stage = await scene()
    const ask = askFor('key', { leaseMs: 5000 })
    await grantOf(stage.store, ask)
    stage.at -= HOUR
    expect(await stage.store.renew([{ ...ask, leaseMs: 1000 }])).toMatchObject([{ renewed: true }])
    stage.at += 4999
    expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: false })
  })

  it('writes nothing for a waiter that is denied again', async () => {
    const stage = await scene()
    await grantOf(stage.store, askFor('key'))
    await acquire(stage.store, askFor('key'))
    const beside = databaseAt(stage.path)
    const version = (): unknown => beside.prepare('pragma data_version').get()
    const before = version()
    // Not even the lock that every writer needs is taken.
    beside.exec('begin immediate')
    for (let i = 0; i < 10; i += 1) {
      expect(await acquire(stage.store, askFor('key'))).toMatchObject({ granted: false })
    }
    beside.exec('rollback')
    expect(version()).toMatchObject({ data_version: (before as { data_version: number }).data_version })
  })

  it('G12 leaves one record, whatever was locked and released', async () => {
    const stage = await scene()
    for (let i = 0; i < 20; i += 1) {
      const asks = Array.from({ length: 50 }, (_, n) => askFor(`key-${i}-${n}`))
      await stage.store.acquire(asks)
      await stage.store.release(asks)
    }
    expect(rowsOf(stage.path)).toBe(1)
  })

  it('removes what holders that never came back left behind, after an hour', async () => {
    const stage = await scene()
    const crashed = Array.from({ length: 700 }, (_, n) => askFor(`crashed-${n}`, { leaseMs: 1000 }))
    const [last] = (await stage.store.acquire(crashed)).slice(-1)
    stage.at += HOUR / 2
    await acquire(stage.store, askFor('crashed-1', { leaseMs: 2 * HOUR }))
    expect(rowsOf(stage.path)).toBe(701)
    stage.at += HOUR
    vi.advanceTimersByTime(HOUR)
    // Bounded work each time, so it takes more than one.
    for (let i = 0; i < 3; i += 1) await grantOf(stage.store, askFor(`next-${i}`))
    expect(rowsOf(stage.path)).toBe(1 + 1 + 3)
    expect(await grantOf(stage.store, askFor('crashed-699'))).toBeGreaterThan(
      (last as { grant: number }).grant,
    )
  })

  it('goes on to remove it when the clock is put back', async () => {
    const stage = await scene()
    stage.at += 30 * 24 * HOUR
    await stage.store.release([await grantedTo(stage.store, 'before')])
    stage.at -= 30 * 24 * HOUR
    await grantedTo(stage.store, 'crashed')
    expect(rowsOf(stage.path)).toBe(1 + 1)
    stage.at += 2 * HOUR
    vi.advanceTimersByTime(2 * HOUR)
    await stage.store.release([await grantedTo(stage.store, 'next')])
    expect(rowsOf(stage.path)).toBe(1)
  })

  it('stores what no text may hold: half a surrogate pair, a NUL', async () => {
    const { store } = await scene()
    const holder = { service: 'a\ud800', instance: '\udc00b', context: 'nul \0 and \ud83d' }
    await grantOf(store, askFor('key', { holder }))
    expect(await acquire(store, askFor('key'))).toMatchObject({
      holder: { service: 'a\ufffd', instance: '\ufffdb', context: 'nul \ufffd and \ufffd' },
    })
  })

  it('lists by prefix and in UTF-8 order, whatever the characters mean to SQL', async () => {
    const { store } = await scene()
    const keys = [
      '%',
      '%a',
      '_',
      'a',
      'a%',
      'a_b',
      'a\u{ffff}',
      'a\u{10000}',
      'a\u{10ffff}',
      'b',
      "o'x",
      '*',
      '[a]',
    ]
    await store.acquire(keys.map((key) => askFor(key)))
    const inOrder = keys.toSorted((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)))
    const all = await store.list({ limit: 100 })
    expect(all.locks.map((lock) => lock.key)).toEqual(inOrder)
    for (const prefix of ['', '%', '_', 'a', 'a%', 'a\u{10ffff}', 'nothing']) {
      const { locks } = await store.list({ prefix, limit: 100 })
      expect(locks.map((lock) => lock.key)).toEqual(inOrder.filter((key) => key.startsWith(prefix)))
    }
    const page = await store.list({ prefix: 'a', after: 'a%', limit: 2 })
    expect(page).toMatchObject({ locks: [{ key: 'a_b' }, { key: 'a\u{ffff}' }], next: 'a\u{ffff}' })
  })
})
