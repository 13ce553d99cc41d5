import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import type { Store } from '../../src/store.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { movingStore } from '../../src/stores/moving/index.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { broken, held, house, isFault, turnsOfTheLoop } from './support/houses.ts'

describe('movingStore', () => {
  it.each([
    ['nothing', undefined],
    ['no stores', {}],
    ['one store', { from: memoryStore() }],
    ['a URL', { from: memoryStore(), to: 'redis://localhost' }],
  ])('refuses %s', (_, options) => {
    expect(() => movingStore(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })

  it('refuses one store as both', () => {
    const store = memoryStore()
    expect(() => movingStore({ from: store, to: store })).toThrow(/one and the same/)
  })

  it('has no push unless both stores have', () => {
    const silent = Object.assign(memoryStore(), { watch: undefined }) as unknown as Store
    expect(movingStore({ from: memoryStore(), to: silent }).watch).toBeUndefined()
    expect(movingStore({ from: silent, to: memoryStore() }).watch).toBeUndefined()
    expect(movingStore({ from: memoryStore(), to: memoryStore() }).watch).toBeTypeOf('function')
  })
})

describe('G1', () => {
  it('what is held in either store alone is denied, and the holder named', async () => {
    const { from, to, moving } = house()
    await grantOf(from, askFor('a', { holder: { service: 'old', instance: '1', context: null } }))
    await grantOf(to, askFor('b', { holder: { service: 'new', instance: '2', context: null } }))
    expect(await acquire(moving, askFor('a'))).toMatchObject({ granted: false, holder: { service: 'old' } })
    expect(await acquire(moving, askFor('b'))).toMatchObject({ granted: false, holder: { service: 'new' } })
  })

  it('what it holds is denied in either store', async () => {
    const { from, to, moving } = house()
    await grantOf(moving, askFor('a'))
    expect(await acquire(from, askFor('a'))).toMatchObject({ granted: false })
    expect(await acquire(to, askFor('a'))).toMatchObject({ granted: false })
  })

  it('a partial grant is undone, also in the middle of a batch, and the rest is granted', async () => {
    const { from, to, moving } = house()
    await grantOf(to, askFor('b'))
    await grantOf(from, askFor('d'))
    const answers = await moving.acquire(['a', 'b', 'c', 'd'].map((key) => askFor(key)))
    expect(answers.map((answer) => 'granted' in answer && answer.granted)).toEqual([true, false, true, false])
    expect(await held(from, 'b')).toBeNull()
    expect(await held(to, 'd')).toBeNull()
    await grantOf(from, askFor('b'))
  })

  it('a lock that is lost in one store is lost, and free in the other at once', async () => {
    for (const side of ['from', 'to'] as const) {
      const stores = house()
      const ask = askFor('a')
      await grantOf(stores.moving, ask)
      await stores[side].evict('a')
      expect(await stores.moving.renew([ask])).toEqual([{ renewed: false }])
      expect(await held(stores.from, 'a')).toBeNull()
      expect(await held(stores.to, 'a')).toBeNull()
    }
  })

  it('a release says whether it was in force in both', async () => {
    for (const side of ['from', 'to'] as const) {
      const stores = house()
      const ask = askFor('a')
      await grantOf(stores.moving, ask)
      await stores[side].evict('a')
      expect(await stores.moving.release([ask])).toEqual([{ released: false, wanted: false }])
      expect(await held(stores.from, 'a')).toBeNull()
      expect(await held(stores.to, 'a')).toBeNull()
    }
  })
})

describe('one store down', () => {
  it('an ask is a fault, and the other store is free for those who use it alone', async () => {
    for (const [down, up] of [
      ['from', 'to'],
      ['to', 'from'],
    ] as const) {
      const stores = house()
      broken(stores[down], 'acquire')
      expect(isFault((await stores.moving.acquire([askFor('a')]))[0])).toBe(true)
      await grantOf(stores[up], askFor('a'))
    }
  })

  it('a renewal is a fault, not a loss, and a release frees what it can', async () => {
    for (const [down, up] of [
      ['from', 'to'],
      ['to', 'from'],
    ] as const) {
      const stores = house()
      const ask = askFor('a')
      const grant = await grantOf(stores.moving, ask)
      const renewal = broken(stores[down], 'renew')
      expect(isFault((await stores.moving.renew([ask]))[0])).toBe(true)
      renewal.mend()
      expect(await stores.moving.renew([ask])).toEqual([{ renewed: true, grant }])
      const release = broken(stores[down], 'release')
      expect(isFault((await stores.moving.release([ask]))[0])).toBe(true)
      expect(await held(stores[up], 'a')).toBeNull()
      release.mend()
      await stores.moving.release([ask])
      expect(await held(stores[down], 'a')).toBeNull()
    }
  })

  it('a store that gives no answer does not keep a release from the other', async () => {
    const { from, to, moving } = house()
    const ask = askFor('a')
    await grantOf(moving, ask)
    to.release = () => new Promise(() => {})
    void moving.release([ask])
    await expect.poll(() => held(from, 'a')).toBeNull()
  })
})

describe('G8 a waiter', () => {
  it.each(['from', 'to'] as const)(
    'that `%s` denied is woken by its release, and asks no more until then',
    async (side) => {
      const stores = house()
      const holding = askFor('a')
      await grantOf(stores[side], holding)
      let asks = 0
      const right = stores.from.acquire.bind(stores.from)
      stores.from.acquire = (all) => ((asks += 1), right(all))
      await using locks = createLocks(stores.moving, { logger: null, poll: { max: '60s' } })
      const turn = locks.acquire('a', { wait: '30s' })
      await expect
        .poll(async () => (await stores[side].list({ key: 'a', limit: 1 })).locks[0]?.wanted)
        .toBe(true)
      // Whatever it hears of the other store, where the key is free, comes now.
      await turnsOfTheLoop(20)
      expect(asks).toBeLessThanOrEqual(2)
      await stores[side].release([holding])
      expect((await turn).held).toBe(true)
    },
  )
})

describe('list and evict', () => {
  it('show what either holds, each key once, in pages of any size', async () => {
    const { from, to, moving } = house()
    for (const key of ['a', 'b', 'c']) await grantOf(from, askFor(key))
    for (const key of ['d', 'e', 'f']) await grantOf(moving, askFor(key))
    for (const key of ['g', 'h']) await grantOf(to, askFor(key))
    for (const limit of [1, 2, 3, 5, 6, 7, 8, 100]) {
      const seen: string[] = []
      let after: string | null | undefined
      while (after !== null) {
        const page = await moving.list({ limit, ...(after === undefined ? {} : { after }) })
        expect(page.locks.length).toBeLessThanOrEqual(limit)
        seen.push(...page.locks.map(({ key }) => key))
        after = page.next
      }
      expect(seen.toSorted()).toEqual('abcdefgh'.split(''))
    }
  })

  it('free a key in either store, and in both', async () => {
    const { from, to, moving } = house()
    const grants = {
      a: await grantOf(from, askFor('a')),
      b: await grantOf(moving, askFor('b')),
      c: await grantOf(to, askFor('c')),
    }
    for (const [key, grant] of Object.entries(grants)) {
      expect(await moving.evict(key, grant + 1)).toBeNull()
      expect(await moving.evict(key, grant)).toMatchObject({ key, grant })
      expect([await held(from, key), await held(to, key)]).toEqual([null, null])
    }
  })
})

it('closes both stores, also if one of them fails to', async () => {
  const { from, to, moving } = house()
  let closed = 0
  from.close = () => Promise.reject(new Error('from'))
  to.close = async () => void (closed += 1)
  await expect(moving.close()).rejects.toThrow('from')
  expect(closed).toBe(1)
})

it('a batch is one call of a step for each store, whatever its size', async () => {
  const { from, to, moving } = house()
  const calls: string[] = []
  for (const [name, store] of Object.entries({ from, to })) {
    for (const step of ['acquire', 'renew', 'release'] as const) {
      const right = store[step].bind(store) as (items: never) => never
      Object.assign(store, { [step]: (items: never) => (calls.push(`${name} ${step}`), right(items)) })
    }
  }
  const asks = Array.from({ length: 50 }, (_, index) => askFor(`key-${index}`))
  await moving.acquire(asks)
  expect(calls.splice(0)).toEqual(['from acquire', 'to acquire', 'from renew'])
  await moving.renew(asks)
  expect(calls.splice(0)).toEqual(['from renew', 'to renew'])
  await moving.release(asks)
  expect(calls.splice(0)).toEqual(['from renew', 'to release', 'from release'])
})
