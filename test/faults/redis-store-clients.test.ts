import type { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import type { RedisLike } from '../../src/stores/redis/index.ts'
import { startRedis } from '../servers/redis.ts'
import {
  atEnd,
  atLast,
  everyClient,
  failureOf,
  failureWithin,
  ioredisOn,
  locksOn,
  nodeRedisOn,
  proxyTo,
  storeOn,
  until,
} from '../support/redis-stage.ts'

const server = await startRedis({ settings: { requirepass: 'right' } })
atLast(() => server.stop())
const { host, port } = server

/** What is wrong at the first call, in words and in time; the store itself works once `mend` is done. */
async function expectRefusal(given: string | RedisLike, says: RegExp, mend?: () => unknown): Promise<void> {
  const locks = locksOn(storeOn(given))
  const error = await failureWithin(3500, locks.tryAcquire('key'))
  expect(error).toMatchObject({
    name: 'LockError',
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(says),
  })
  expect(error.message).not.toContain('secret')
  if (!mend) return
  await mend()
  await until('a call that works', () => locks.tryAcquire('key').then(Boolean, () => false), 10_000)
  await locks.close()
}

/** A pair, and a turn that is handed over by a message. */
async function expectWork(locks: Locks, waiters: Locks): Promise<void> {
  const lease = await locks.acquire('work')
  const turn = waiters.acquire('work', { wait: '20s' })
  await until('the waiter', async () => (await locks.inspect('work'))?.wanted)
  await lease.release()
  await (await turn).release()
}

describe.each(everyClient)('Redis refuses $name', (client) => {
  it('a wrong password, until it is the right one', async () => {
    const given = await client.open(`redis://:secret@${host}:${port}`)
    await expectRefusal(given, /password is wrong or missing|did not answer within/, async () => {
      await server.command('acl', 'setuser', 'default', '>secret')
      atEnd(() => server.command('acl', 'setuser', 'default', '<secret'))
      // A client of ioredis asks only when it connects.
      await server.command('client', 'kill', 'type', 'normal')
    })
  })

  it('no password, where one is asked for', async () => {
    await expectRefusal(await client.open(`redis://${host}:${port}`), /password is wrong or missing/)
  })

  it('a port where nothing listens, until something does', async () => {
    const { proxy, url } = await proxyTo(server.url)
    proxy.refuse()
    await expectRefusal(await client.open(url), /nothing listens there|did not answer within/, () =>
      proxy.accept(),
    )
  })

  it('a host that there is not', async () => {
    await expectRefusal(
      await client.open(`redis://:right@no-such-host.invalid:${port}`),
      /host name cannot be looked up|did not answer within/,
    )
  })

  it('TLS on a plain port', async () => {
    await expectRefusal(
      await client.open(`rediss://:right@${host}:${port}`),
      /TLS|did not answer within|no connection within/,
    )
  })

  it('a server that does not answer, until it does', async () => {
    const { proxy, url } = await proxyTo(server.url)
    proxy.freeze()
    await expectRefusal(await client.open(url), /did not answer within|no connection within/, () =>
      proxy.thaw(),
    )
  })
})

describe('a client of ioredis', () => {
  it('that may not try again says so', async () => {
    const { proxy, url } = await proxyTo(server.url)
    proxy.refuse()
    await expectRefusal(ioredisOn(url, { maxRetriesPerRequest: 0 }), /could not connect in time/, () =>
      proxy.accept(),
    )
  })

  it.each([
    {},
    { enableAutoPipelining: true },
    { enableOfflineQueue: false },
    { enableOfflineQueue: false, lazyConnect: true },
    { maxRetriesPerRequest: null },
    { maxRetriesPerRequest: 0 },
    { maxRetriesPerRequest: 1, retryStrategy: () => 50 },
    { commandTimeout: 500 },
    { enableReadyCheck: false },
    { autoResendUnfulfilledCommands: false },
    { stringNumbers: true },
    { db: 5 },
    { keyPrefix: 'any:' },
    { showFriendlyErrorStack: true },
  ])('G7 with %j works, fails in time while the server is away, and works again', async (options) => {
    const { proxy, url } = await proxyTo(server.url)
    const [locks, waiters] = [1, 2].map(() =>
      locksOn(storeOn(ioredisOn(url, options)), { lease: '20s', poll: { max: '30s' }, callTimeout: '1s' }),
    ) as [Locks, Locks]
    await expectWork(locks, waiters)
    const lease = await locks.acquire('held')
    proxy.refuse()
    proxy.cut()
    const error = await failureWithin(1500, locks.tryAcquire('while away'))
    expect(error).toMatchObject({ name: 'LockError', code: 'STORE_UNAVAILABLE' })
    await proxy.accept()
    await until('a call that works', () => locks.tryAcquire('again').then(Boolean, () => false))
    // It may have been on its way, and is taken back.
    await until('a free key', async () => (await locks.inspect('while away')) === null)
    expect(await lease.release()).toBe(true)
    await expectWork(locks, waiters)
    await Promise.all([locks.close(), waiters.close()])
  })

  it('with a database that there is not works in the one that the client then uses', async () => {
    const locks = locksOn(storeOn(ioredisOn(server.url, { db: 99 })))
    const lease = await locks.acquire('no database')
    expect(await lease.release()).toBe(true)
  })

  it('that its owner has closed says so, and works when it is connected again', async () => {
    const redis = ioredisOn(server.url) as Redis
    await redis.ping()
    redis.disconnect()
    await expectRefusal(redis, /connection was cut, or the client given to the store was closed/, () =>
      redis.connect(),
    )
  })
})

describe('a client of node-redis', () => {
  it.each([
    {},
    { disableOfflineQueue: true },
    { commandsQueueMaxLength: 1000 },
    { RESP: 3 as const },
    { database: 5 },
    { pingInterval: 200 },
    { socket: { reconnectStrategy: () => 50 } },
  ])('G7 with %j works, fails in time while the server is away, and works again', async (options) => {
    const { proxy, url } = await proxyTo(server.url)
    const [locks, waiters] = [1, 2].map(() =>
      locksOn(storeOn(nodeRedisOn(url, options)), { lease: '20s', poll: { max: '30s' }, callTimeout: '1s' }),
    ) as [Locks, Locks]
    await until('a connection', () => locks.health().then(({ ok }) => ok))
    await until('a connection', () => waiters.health().then(({ ok }) => ok))
    await expectWork(locks, waiters)
    const lease = await locks.acquire('held')
    proxy.refuse()
    proxy.cut()
    const error = await failureWithin(1500, locks.tryAcquire('while away'))
    expect(error).toMatchObject({ name: 'LockError', code: 'STORE_UNAVAILABLE' })
    await proxy.accept()
    await until('a call that works', () => locks.tryAcquire('again').then(Boolean, () => false))
    await until('a free key', async () => (await locks.inspect('while away')) === null)
    expect(await lease.release()).toBe(true)
    await expectWork(locks, waiters)
    await Promise.all([locks.close(), waiters.close()])
  })

  it('with a database that there is not works in the one that the client then uses, or says so', async () => {
    const locks = locksOn(storeOn(nodeRedisOn(server.url, { database: 99 })))
    const start = performance.now()
    const said = await locks.tryAcquire('no database').then(String, (error: Error) => error.message)
    expect(said).toMatch(/object|no database of that number|did not answer within/)
    expect(performance.now() - start).toBeLessThan(3500)
  })

  it('that was never connected says so, and works when it is', async () => {
    const redis = createClient({ url: server.url })
    atEnd(() => redis.destroy())
    await expectRefusal(
      redis as unknown as RedisLike,
      /not connected; call `await client\.connect\(\)` first/,
      () => redis.connect(),
    )
  })

  it('that its owner has closed says so', async () => {
    const redis = createClient({ url: server.url })
    await redis.connect()
    const locks = locksOn(storeOn(redis as unknown as RedisLike))
    await locks.acquire('open')
    redis.destroy()
    expect(await failureOf(locks.tryAcquire('closed'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/was closed, or gave up to reconnect/),
    })
  })
})
