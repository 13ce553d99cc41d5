import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atLast,
  everyClient,
  ioredisOn,
  locksOn,
  nameOf,
  recordOf,
  storeOn,
  until,
  waitersOf,
} from '../support/redis-stage.ts'

const server = await startRedis()
atLast(() => server.stop())

describe.each(everyClient)('$name:', (client) => {
  it('a record is what a person can read, with who, why, since when and for how long', async () => {
    const locks = locksOn(storeOn(await client.open(server.url)), { service: 'billing', instance: 'host:1' })
    const before = Date.now()
    const lease = await locks.acquire('räum auf: {1}', { context: { job: 7 }, lease: '20s' })
    const record = await recordOf(server, nameOf('räum auf: {1}'))
    expect(record).toEqual({
      owner: expect.stringMatching(/^.{10,}$/),
      grant: Number(lease.token / 1024n),
      since: expect.any(Number),
      lease: 20_000,
      service: 'billing',
      instance: 'host:1',
      context: '{"job":7}',
    })
    expect(Math.abs(Number(record.since) - before)).toBeLessThan(10_000)
    const leftMs = Number(await server.command('pttl', nameOf('räum auf: {1}')))
    expect(leftMs).toBeLessThanOrEqual(20_000)
    expect(leftMs).toBeGreaterThan(10_000)
    expect(nameOf('räum auf: {1}')).toMatch(/^holdfast:\{\d\d\}:räum auf: \{1\}$/)
  })

  it('G3 keys that are called as a fence are keys like all others', async () => {
    const prefix = `fences-${client.driver}`
    const store = storeOn(await client.open(server.url), { prefix })
    const keys = ['fence', 'fence:', 'fence::', 'fences', 'freed', 'freed:x', '*', '??', '[a]', '\\', '^']
    const asks = keys.map((key) => askFor(key))
    const first = await Promise.all(asks.map((ask) => grantOf(store, ask)))
    expect((await store.list({ limit: 50 })).locks.map(({ key }) => key).toSorted()).toEqual(keys.toSorted())
    for (const key of keys) {
      expect((await store.list({ key, limit: 5 })).locks).toHaveLength(1)
      const { locks } = await store.list({ prefix: key, limit: 50 })
      expect(locks.map((lock) => lock.key).toSorted()).toEqual(
        keys.filter((each) => each.startsWith(key)).toSorted(),
      )
    }
    expect(await store.release(asks)).toEqual(keys.map(() => ({ released: true, wanted: false })))
    const second = await Promise.all(keys.map((key) => grantOf(store, askFor(key))))
    expect(second.every((grant, i) => grant > (first[i] ?? Infinity))).toBe(true)
    for (const key of keys) expect(await store.evict(key)).toMatchObject({ key })
    // Nothing is left but fences.
    const left = (await server.command('keys', `${prefix}:*`)) as string[]
    expect(left.every((name) => /:\{\d\d\}:fence$/.test(name))).toBe(true)
  })

  it.each(['a:b', '*?[x]^\\', 'ключ/λ', '"quoted\'', 'x'.repeat(100), '%00$&', 'app-🔒'])(
    'G8 the prefix %j works: locks, lists and messages',
    async (prefix) => {
      const [store, other] = [
        storeOn(await client.open(server.url), { prefix }),
        storeOn(await client.open(server.url), { prefix }),
      ]
      const [locks, waiters] = [locksOn(store), locksOn(other, { poll: { max: '30s' } })]
      const lease = await locks.acquire('key')
      expect((await store.list({ limit: 10 })).locks).toMatchObject([{ key: 'key' }])
      const turn = waiters.acquire('key', { wait: '20s' })
      await until(
        'its name on the list',
        async () => (await waitersOf(server, nameOf('key', prefix))).length > 0,
      )
      const start = performance.now()
      await lease.release()
      const next = await turn
      expect(performance.now() - start).toBeLessThan(1000)
      await next.release()
    },
  )

  it('stores with different prefixes do not see each other, even if one begins with the other', async () => {
    const prefixes = ['app', 'app:', 'apps', 'ap?', 'a*']
    const stores = await Promise.all(
      prefixes.map(async (prefix) =>
        storeOn(await client.open(server.url), { prefix: prefix + client.driver.slice(0, 1) }),
      ),
    )
    for (const [i, store] of stores.entries()) await grantOf(store, askFor('key', { owner: `owner ${i}` }))
    for (const [i, store] of stores.entries()) {
      expect((await store.list({ limit: 10 })).locks).toHaveLength(1)
      expect(await store.release([{ key: 'key', owner: `owner ${i}` }])).toMatchObject([{ released: true }])
      expect((await store.list({ limit: 10 })).locks).toEqual([])
    }
  })
})

it('ioredis with a `keyPrefix`: it comes before every name, and all works as without', async () => {
  for (const keyPrefix of ['app:', '*{x}?:', 'ключ ']) {
    const [one, two] = [1, 2].map(() => ioredisOn(server.url, { keyPrefix }))
    if (!one || !two) throw new Error('no clients')
    const store = storeOn(one)
    const [locks, waiters] = [locksOn(store), locksOn(storeOn(two), { poll: { max: '30s' } })]
    const plain = locksOn(storeOn(server.url))
    const lease = await locks.acquire('prefixed')
    expect(await recordOf(server, keyPrefix + nameOf('prefixed'))).toMatchObject({ lease: 30_000 })
    expect((await store.list({ limit: 10 })).locks).toMatchObject([{ key: 'prefixed' }])
    expect(await plain.tryAcquire('prefixed')).not.toBeNull()
    const turn = waiters.acquire('prefixed', { wait: '20s' })
    await until(
      'its name on the list',
      async () => (await waitersOf(server, keyPrefix + nameOf('prefixed'))).length > 0,
    )
    const start = performance.now()
    await lease.release()
    expect((await turn).token).toBeGreaterThan(lease.token)
    expect(performance.now() - start).toBeLessThan(1000)
    await plain.close()
  }
})
