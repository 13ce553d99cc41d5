import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { startRedis } from '../servers/redis.ts'
import {
  atEnd,
  atLast,
  callsOf,
  everyClient,
  failureOf,
  failureWithin,
  leftOf,
  locksOn,
  storeOn,
  until,
} from '../support/redis-stage.ts'
import { heldOn } from '../support/stage.ts'
import { Told } from '../support/told.ts'

const server = await startRedis()
atLast(() => server.stop())

async function waits(locks: Locks, key: string): Promise<boolean> {
  return (await locks.inspect(key))?.wanted ?? false
}

describe.each(everyClient)('$name: a server', (client) => {
  it('that forgets its scripts is told them again, whatever is under way', async () => {
    const [locks, others] = [
      locksOn(storeOn(await client.open(server.url))),
      locksOn(storeOn(await client.open(server.url)), { poll: { max: '20s' } }),
    ]
    const key = `scripts of ${client.name}`
    const lease = await locks.acquire(key)
    const turn = others.acquire(key, { wait: '30s' })
    await until('the waiter', () => waits(locks, key))
    for (let i = 0; i < 4; i += 1) {
      await server.command('script', 'flush')
      await lease.extend()
    }
    await server.command('script', 'flush')
    await Promise.all(Array.from({ length: 20 }, (_, i) => locks.acquire(`${key} ${i}`)))
    await server.command('script', 'flush')
    expect(await heldOn(locks, `${key} `)).toHaveLength(20)
    await server.command('script', 'flush')
    expect(await lease.release()).toBe(true)
    expect((await turn).token).toBeGreaterThan(lease.token)
    expect([locks.stats().storeFailures, others.stats().storeFailures]).toEqual([0, 0])
  })

  it.each(['FLUSHALL', 'a restart without persistence'])(
    'G2 G3 that forgets all by %s: holders are told at the next renewal, and tokens rise',
    async (how) => {
      const [locks, others] = [
        locksOn(storeOn(await client.open(server.url)), { lease: '3s' }),
        locksOn(storeOn(await client.open(server.url)), { poll: { max: '1s' } }),
      ]
      const key = `forgotten by ${how} under ${client.name}`
      const lease = await locks.acquire(key)
      let tokens = [lease.token]
      const turn = others.acquire(key, { wait: '30s' })
      await until('the waiter', () => waits(locks, key))
      const start = performance.now()
      let toldAfter = Infinity
      lease.signal.addEventListener('abort', () => (toldAfter = performance.now() - start))
      if (how === 'FLUSHALL') await server.command('flushall')
      else await server.restart()
      const next = await turn
      tokens = [...tokens, next.token]
      await until('the news', () => lease.signal.aborted)
      // A third of the lease, and what it takes to connect again.
      expect(toldAfter).toBeLessThan(2500)
      expect(lease.held).toBe(false)
      expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
      expect(await lease.release()).toBe(false)
      expect(next.held).toBe(true)
      await next.release()
      tokens = [...tokens, (await locks.acquire(key)).token]
      expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
    },
  )

  it('G2 G7 that stands still: the signal comes before the lease ends, calls fail in time, and work after it', async () => {
    const locks = locksOn(storeOn(await client.open(server.url)), { lease: '4s' })
    const key = `still for ${client.name}`
    const lease = await locks.acquire(key)
    const told = new Told(lease, 4000)
    told.cutOff(await leftOf(server, key))
    await server.pause()
    atEnd(() => server.resume())
    expect(locks.stats().renewals).toBe(0)

    const call = failureWithin(4500, locks.acquire('other', { wait: '1s' }))
    const attempt = failureWithin(4500, locks.tryAcquire('another'))
    expect(await call).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await attempt).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' })

    server.resume()
    const next = await locks.acquire(key, { wait: '20s' })
    expect(next.token).toBeGreaterThan(lease.token)
    expect(await locks.acquire('other', { wait: '10s' })).toBeDefined()
    await locks.close()
  })

  it('G2 G7 under CLIENT PAUSE: the same, and what was sent meanwhile is not left behind', async () => {
    const locks = locksOn(storeOn(await client.open(server.url)), { lease: '900ms' })
    const key = `paused for ${client.name}`
    const lease = await locks.acquire(key)
    const told = new Told(lease, 900)
    await server.command('client', 'pause', '4000', 'write')
    // Not before: a renewal could still move it.
    told.cutOff(await leftOf(server, key))
    const error = await failureOf(locks.tryAcquire(`${key}, other`))
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/did not answer within|no answer within/),
    })
    expect(told.inTime).toBe(true)
    // It arrived all the same, and is taken back.
    await until('an end of the pause', () => locks.tryAcquire(`${key}, third`).then(Boolean, () => false))
    await until('a free key', async () => (await locks.inspect(`${key}, other`)) === null)
    expect((await locks.acquire(key, { wait: '10s' })).token).toBeGreaterThan(lease.token)
  })
})

it('commands are counted as this file believes', async () => {
  await server.command('config', 'resetstat')
  await server.command('ping')
  expect(await callsOf(server)).toMatchObject({ ping: 1 })
})
