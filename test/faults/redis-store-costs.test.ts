import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { systemEnvironment } from '../../src/environment.ts'
import type { ListQuery, Store } from '../../src/store.ts'
import { startRedis } from '../servers/redis.ts'
import { askFor } from '../support/asks.ts'
import {
  atLast,
  callsOf,
  everyClient,
  locksOn,
  nameOf,
  proxyTo,
  storeOn,
  until,
  waitersOf,
} from '../support/redis-stage.ts'

const server = await startRedis()
atLast(() => server.stop())

/** From inside scripts: they travel nowhere. */
const INSIDE = ['time', 'get', 'mget', 'set', 'mset', 'del', 'pexpire', 'pttl', 'publish']
const OURS = ['info', 'config|resetstat']

/** What went over the wire since `reset`, and how many messages were published. */
async function sent(): Promise<{ wire: Record<string, number>; published: number }> {
  const calls = await callsOf(server)
  const wire = Object.entries(calls).filter(([name]) => !INSIDE.includes(name) && !OURS.includes(name))
  return { wire: Object.fromEntries(wire), published: calls.publish ?? 0 }
}

async function reset(): Promise<void> {
  await server.command('config', 'resetstat')
}

async function otherKeys(count: number): Promise<void> {
  const others = new Redis(server.url)
  const pairs = Array.from({ length: count }, (_, i) => [`other:${i}`, 'x']).flat()
  for (let i = 0; i < pairs.length; i += 4000) await others.mset(...pairs.slice(i, i + 4000))
  others.disconnect()
}

async function pagesOf(
  store: Store,
  query: ListQuery,
): Promise<{ seen: string[]; pages: number; longestMs: number }> {
  const seen: string[] = []
  let [pages, longestMs] = [0, 0]
  let after: string | undefined
  do {
    const start = performance.now()
    const page = await store.list({ ...query, ...(after ? { after } : {}) })
    longestMs = Math.max(longestMs, performance.now() - start)
    expect(page.locks.length).toBeLessThanOrEqual(query.limit)
    seen.push(...page.locks.map(({ key }) => key))
    after = page.next ?? undefined
    pages += 1
  } while (after !== undefined)
  return { seen, pages, longestMs }
}

describe.each(everyClient)('$name:', (client) => {
  it('a release writes once what is left of the list', async () => {
    const [store, ...waiters] = await Promise.all(
      [1, 2, 3].map(async () => storeOn(await client.open(server.url))),
    )
    const ask = askFor(`list of ${client.name}`)
    await store?.acquire([ask])
    for (const waiter of waiters) {
      waiter.watch?.(() => {}).add(ask.key)
      await waiter.acquire([askFor(ask.key)])
    }
    await until('two on the list', async () => (await waitersOf(server, nameOf(ask.key))).length === 2)
    await reset()
    await store?.release([ask])
    expect(await callsOf(server)).toMatchObject({ set: 1, publish: 1 })
    expect(await callsOf(server)).not.toHaveProperty('pexpire')
  })

  it('an uncontended pair is two commands, and nothing is published', async () => {
    const locks = locksOn(storeOn(await client.open(server.url)))
    const key = `pair of ${client.name}`
    await locks.using(key, () => {})
    await reset()
    await locks.using(key, () => {})
    expect(await sent()).toEqual({ wire: { evalsha: 2 }, published: 0 })
    await locks.using(key, async () => {
      await locks.using(key, async () => {
        expect(await locks.using(key, () => 'again')).toBe('again')
      })
    })
    expect(await sent()).toEqual({ wire: { evalsha: 4 }, published: 0 })
  })

  it('50 tasks of one process on one key ask once, and give back once', async () => {
    // A process passes a key on for a short time only: with a clock that stands still it is never over.
    const now = performance.now()
    const environment = { ...systemEnvironment, now: () => now }
    const locks = locksOn(storeOn(await client.open(server.url)), { environment })
    const key = `tasks of ${client.name}`
    await locks.using(key, () => {})
    await reset()
    let inside = 0
    const tokens: bigint[] = []
    const task = (): Promise<void> =>
      locks.using(key, { wait: '20s' }, async ({ token }) => {
        inside += 1
        expect(inside).toBe(1)
        tokens.push(token)
        await new Promise((resolve) => setImmediate(resolve))
        inside -= 1
      })
    await Promise.all(Array.from({ length: 50 }, task))
    expect(await sent()).toEqual({ wire: { evalsha: 2 }, published: 0 })
    expect(new Set(tokens).size).toBe(50)
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
  })

  it('a hand-over to another process is one message, and only to the one that is next', async () => {
    const key = `handed over by ${client.name}`
    const [locks, next, last] = await Promise.all(
      [1, 2, 3].map(async () => locksOn(storeOn(await client.open(server.url)), { poll: { max: '30s' } })),
    )
    const lease = await locks?.acquire(key)
    const listed = async (count: number): Promise<boolean> =>
      (await waitersOf(server, nameOf(key))).length === count
    const turn = next?.acquire(key, { wait: '30s' })
    await until('the next', () => listed(1))
    const turn2 = last?.acquire(key, { wait: '30s' })
    await until('the last', () => listed(2))
    await reset()
    await lease?.release()
    const second = await turn
    expect(await sent()).toEqual({ wire: { evalsha: 2 }, published: 1 })
    await second?.release()
    const third = await turn2
    await third?.release()
    expect(await sent()).toMatchObject({ published: 2 })
    expect(await server.command('exists', nameOf(key))).toBe(0)
  })

  it('10,000 leases are renewed in at most 20 calls, none of which holds up the server', async () => {
    const store = storeOn(await client.open(server.url), { prefix: `many-${client.driver}` })
    const locks = locksOn(store, { lease: '12s' })
    const leases = await Promise.all(Array.from({ length: 10_000 }, (_, i) => locks.acquire(`lease ${i}`)))
    const renewed = (): number => locks.stats().renewals
    await until('a first round', () => renewed() === 10_000)
    // Microseconds. What takes longer than this holds up others.
    await server.command('config', 'set', 'slowlog-log-slower-than', 1000)
    await server.command('slowlog', 'reset')
    await reset()
    await until('a round', () => renewed() === 20_000)
    const { wire } = await sent()
    expect(wire.evalsha).toBeGreaterThanOrEqual(10)
    expect(wire.evalsha).toBeLessThanOrEqual(20)
    // The quickest tells what the work takes; in the others a busy machine is counted, too, perhaps for a whole round.
    await until('a call of less than 8 ms', async () => {
      const slow = (await server.command('slowlog', 'get', 100)) as [number, number, number, string[]][]
      return slow.some(([, , us, [name]]) => /evalsha/i.test(name ?? '') && us < 8000)
    })
    expect(leases.every(({ held }) => held)).toBe(true)
    await server.command('flushall')
  })

  it('a list goes in small steps over whatever else is there, and never asks for all keys', async () => {
    await otherKeys(40_000)
    const prefix = `listed-${client.driver}`
    const store = storeOn(await client.open(server.url), { prefix })
    const asks = Array.from({ length: 300 }, (_, i) => askFor(`key ${i}`))
    await store.acquire(asks)
    await reset()
    const { seen, pages } = await pagesOf(store, { prefix: 'key ', limit: 50 })
    expect(seen.toSorted()).toEqual(asks.map(({ key }) => key).toSorted())
    const { wire } = await sent()
    expect(Object.keys(wire).filter((name) => !['eval', 'evalsha', 'scan'].includes(name))).toEqual([])
    expect(pages).toBeGreaterThanOrEqual(6)
    expect(wire.scan).toBeLessThan(150)
    await server.command('flushall')
  })
})

it('a list that takes long comes in short pages, none of which takes longer than core waits', async () => {
  await otherKeys(40_000)
  const { proxy, url } = await proxyTo(server.url)
  const store = storeOn(url, { prefix: 'slowly' })
  const asks = Array.from({ length: 300 }, (_, i) => askFor(`key ${i}`))
  await store.acquire(asks)
  proxy.delay(25)
  const { seen, pages, longestMs } = await pagesOf(store, { limit: 1000 })
  expect(seen.toSorted()).toEqual(asks.map(({ key }) => key).toSorted())
  expect(pages).toBeGreaterThan(1)
  expect(longestMs).toBeLessThan(2500)
})
