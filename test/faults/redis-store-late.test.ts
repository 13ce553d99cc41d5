import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { RedisLike } from '../../src/stores/redis/index.ts'
import { Names } from '../../src/stores/redis/names.ts'
import { startRedis } from '../servers/redis.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { drivers } from '../support/node-redis-drivers.ts'
import { atEnd, atLast, failureOf, ioredisOn, nodeRedisOn, proxyTo, storeOn } from '../support/redis-stage.ts'

const server = await startRedis()
atLast(() => server.stop())
const names = new Names('holdfast', '')

/** By then, whoever asked has been told that it failed. */
const LATE_MS = 2700

/** Fails while it cannot be sent, and is not sent when it could be. */
async function expectNotSent(
  given: RedisLike,
  key: string,
  { hinder, mend }: { hinder: () => unknown; mend: () => unknown },
): Promise<void> {
  const store = storeOn(given)
  await hinder()
  const asked = failureOf(store.acquire([askFor(key)]))
  await sleep(LATE_MS)
  await mend()
  expect(await asked).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('given up: no connection answered within 2500 ms'),
  })
  await sleep(200)
  expect(await server.command('exists', names.record(key))).toBe(0)
  expect(await grantOf(store, askFor(key))).toBeGreaterThan(0)
}

describe('G5 an ask that could not be sent in time is not sent late', () => {
  it.each([
    ['ioredis', () => ioredisOn(server.url)],
    ['node-redis', () => nodeRedisOn(server.url)],
  ])('with %s, in full to a server that has lost the script', async (name, open) => {
    const client = open()
    await grantOf(storeOn(client), askFor(`before ${name}`))
    await expectNotSent(client, `lost ${name}`, {
      hinder: async () => {
        await server.command('script', 'flush')
        await server.pause()
        atEnd(() => server.resume())
      },
      mend: () => server.resume(),
    })
  })

  it('with ioredis without an offline queue, while it connects', async () => {
    const { proxy, url } = await proxyTo(server.url)
    proxy.freeze()
    await expectNotSent(ioredisOn(url, { enableOfflineQueue: false }), 'connecting', {
      hinder: () => undefined,
      mend: () => proxy.thaw(),
    })
  })

  it.each(drivers)('with a pool of $name, while all connections are in use', async (driver) => {
    const pool = driver.pool({ url: server.url }, { maximum: 1 })
    await pool.connect()
    let giveBack: () => void = () => undefined
    await expectNotSent(pool, `pool ${driver.name}`, {
      hinder: () => void pool.execute(() => new Promise<void>((resolve) => (giveBack = resolve))),
      mend: () => giveBack(),
    })
  })
})
