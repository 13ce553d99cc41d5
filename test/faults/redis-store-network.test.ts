import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import { askFor } from '../support/asks.ts'
import { OwnStage, packages } from '../support/redis-packages.ts'
import {
  atLast,
  everyClient,
  failureOf,
  failureWithin,
  ioredisOn,
  leftOf,
  locksOn,
  proxyTo,
  storeOn,
  until,
} from '../support/redis-stage.ts'
import { Told } from '../support/told.ts'

const server = await startRedis()
atLast(() => server.stop())

describe.each(packages)('a URL, with $name: a connection that died in silence', (one) => {
  it('G7 is given up in time, and the next call has another', async () => {
    const { proxy, url } = await proxyTo(server.url)
    const stage = new OwnStage(one, url)
    expect(await stage.eval('return 1')).toBe(1)
    proxy.strand()
    const calls = [1, 2, 3].map(() => failureWithin(3000, stage.eval('return 2')))
    for (const error of await Promise.all(calls)) expect(error.message).toMatch(/no answer within 2500 ms/)
    expect(await stage.eval('return 3')).toBe(3)
  })

  it('is not what one is taken for on which a call takes long while others are answered', async () => {
    const stage = new OwnStage(one, server.url)
    await stage.eval('return 1')
    // On one connection, one after the other: together longer than the limit.
    const wait = (): Promise<unknown> =>
      stage.client.evalShaAndWait('0'.repeat(40), [], [], 5, 1000).catch(String)
    const said = await Promise.all([wait(), wait(), wait()])
    expect(said).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/NOSCRIPT/)))
  })
})

describe('a URL: a network that falls silent', () => {
  it('G2 G7 the signal comes, and locks work again as soon as it does', async () => {
    const { proxy, url } = await proxyTo(server.url)
    const locks = locksOn(storeOn(url), { lease: '2s' })
    const lease = await locks.acquire('silence')
    const told = new Told(lease, 2000)
    proxy.freeze()
    told.cutOff(await leftOf(server, 'silence'))
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    // What was open stays dead, and nobody is told.
    proxy.strand()
    proxy.thaw()
    await until('a call that works', () => locks.tryAcquire('any').then(Boolean, () => false), 5000)
    expect((await locks.acquire('silence', { wait: '10s' })).token).toBeGreaterThan(lease.token)
  })
})

it('ioredis with a `socketTimeout`: a connection that died in silence is replaced', async () => {
  const { proxy, url } = await proxyTo(server.url)
  const locks = locksOn(storeOn(ioredisOn(url, { socketTimeout: 1000 })))
  await locks.acquire('a')
  proxy.strand()
  await until('a call that works', () => locks.tryAcquire('b').then(Boolean, () => false), 8000)
})

describe.each(everyClient)('$name: close()', (client) => {
  it('does not wait for ever for a server that does not answer', async () => {
    const { proxy, url } = await proxyTo(server.url)
    const store = storeOn(await client.open(url))
    const ask = askFor(`farewell of ${client.name}`)
    await store.acquire([ask])
    store.watch?.(() => {}).add(ask.key)
    await until('its name on the list', async () => {
      const { locks } = await store.list({ key: ask.key, limit: 1 })
      return locks[0]?.wanted
    })
    proxy.freeze()
    const start = performance.now()
    await store.close()
    expect(performance.now() - start).toBeLessThan(2000)
    expect(await failureOf(store.list({ limit: 1 }))).toMatchObject({ code: 'CLOSED' })
  })
})
