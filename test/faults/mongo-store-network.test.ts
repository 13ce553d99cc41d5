import type { Db } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { TcpProxy } from '../servers/tcp-proxy.ts'
import { startMongo } from '../servers/mongo.ts'
import { askFor } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  clientOn,
  failureOf,
  failureWithin,
  holdAndWait,
  locksOn,
  locksWithoutPoll,
  proxyTo,
  recordOf,
  storeOn,
  until,
} from '../support/mongo-stage.ts'
import { Told } from '../support/told.ts'
import type { Store } from '../../src/store.ts'
import { OwnSource } from '../../src/stores/mongo/own-client.ts'

const server = await startMongo({ replicaSet: 'rs' })
atLast(() => server.stop())

/** As quick to find out what is dead as the client that a URL gets. */
const quick = { heartbeatFrequencyMS: 2000, connectTimeoutMS: 2000, serverSelectionTimeoutMS: 2000 }

const everyClient = [
  { name: 'url', open: (url: string): Store => storeOn(url) },
  { name: 'client', open: (url: string): Store => storeOn(clientOn(url, { ...quick, maxPoolSize: 10 })) },
]

async function through(): Promise<{ proxy: TcpProxy; url: string }> {
  // Else the driver would go by the address that the server gives itself.
  return proxyTo(server.url.replace(/replicaSet=\w+/, 'directConnection=true'))
}

it('G7 url: servers that it takes longer to connect to than a call may take are reached all the same', async () => {
  const { proxy, url } = await through()
  const source = new OwnSource(url, 'far')
  atEnd(() => source.close())
  // There and back: more than the 2 s of the first attempt.
  proxy.delay(1200)
  expect(await failureOf(source.db())).toMatchObject({ name: 'MongoServerSelectionError' })
  await until('a connection', () => source.db().then(Boolean, () => false), 20_000)
  proxy.delay(0)
  expect(await (await source.db()).command({ ping: 1 })).toMatchObject({ ok: 1 })
})

it('G7 url: servers that refused for a while are found silent as soon as any others', async () => {
  const { proxy, url } = await through()
  proxy.refuse()
  const source = new OwnSource(url, 'refused')
  atEnd(() => source.close())
  for (let i = 0; i < 3; i += 1)
    expect(await failureOf(source.db())).toMatchObject({ name: 'MongoServerSelectionError' })
  await proxy.accept()
  await until('a connection', () => source.db().then(Boolean, () => false))
  // The driver notices after a heartbeat and this, which is the first attempt's.
  const { client } = (await source.db()) as unknown as Db
  expect(client.options.connectTimeoutMS).toBe(2000)
})

describe.each(everyClient)('$name:', ({ name, open }) => {
  it('G7 connections that died in silence: calls fail in time, and soon have others', async () => {
    const { proxy, url } = await through()
    const locks = locksOn(open(url), { lease: '20s' })
    const kept = await locks.acquire(`kept in silence, ${name}`)
    proxy.strand()
    // More than the client has connections.
    const calls = Array.from({ length: 30 }, (_, index) =>
      failureWithin(3500, locks.tryAcquire(`dead ${index}, ${name}`)),
    )
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ name: 'LockError', code: 'STORE_UNAVAILABLE' })
    }
    await until(
      'a call that works',
      () => locks.tryAcquire(`alive, ${name}`).then(Boolean, () => false),
      6000,
    )
    await kept.extend()
    expect(kept.held).toBe(true)
  })

  it('G2 G7 a network that falls silent: the signal comes, and locks work again as soon as it does', async () => {
    const { proxy, url } = await through()
    const locks = locksOn(open(url), { lease: '2s' })
    const key = `silence, ${name}`
    const lease = await locks.acquire(key)
    const told = new Told(lease, 2000)
    proxy.freeze()
    told.cutOff(Number((await recordOf(server, key))?.['expiresAt']) - Date.now())
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    proxy.thaw()
    expect((await locks.acquire(key, { wait: '10s' })).token).toBeGreaterThan(lease.token)
  })

  it('G7 G8 a network that is cut again and again: leases go on, and those who wait are woken', async () => {
    const { proxy, url } = await through()
    const [holders, locks] = [locksOn(storeOn(server.url)), locksWithoutPoll(open(url))]
    const key = `cut, ${name}`
    const lease = await locks.acquire(`${key}, held`, { lease: '6s' })
    const { free } = await holdAndWait(holders, locks, key)
    for (let i = 0; i < 3; i += 1) {
      proxy.cut()
      await locks.acquire(`${key} ${i}`, { wait: '10s' })
    }
    expect(await free()).toBeLessThan(3000)
    const { renewals } = locks.stats()
    await until('a renewal', () => locks.stats().renewals > renewals)
    expect(lease.held).toBe(true)
  })

  it('close() does not wait for ever for a server that does not answer', async () => {
    const { proxy, url } = await through()
    const store = open(url)
    const ask = askFor(`farewell, ${name}`)
    await store.acquire([ask])
    store.watch?.(() => {}).add(ask.key)
    await until(
      'its name on the list',
      async () => (await recordOf(server, ask.key))?.['waiters'].length === 1,
    )
    proxy.freeze()
    atEnd(() => proxy.thaw())
    const start = performance.now()
    await store.close()
    expect(performance.now() - start).toBeLessThan(2500)
    expect(await failureOf(store.list({ limit: 1 }))).toMatchObject({ code: 'CLOSED' })
    if (name === 'url') await until('no connection', () => proxy.connections === 0, 5000)
  })
})

it('G7 a client that is slow to find out: a call that was not answered does not keep its connection', async () => {
  const { proxy, url } = await through()
  const locks = locksOn(storeOn(clientOn(url, { maxPoolSize: 1, serverSelectionTimeoutMS: 2000 })))
  await locks.acquire('before')
  proxy.strand()
  expect(await failureOf(locks.tryAcquire('dead'))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await locks.tryAcquire('alive')).not.toBeNull()
})
