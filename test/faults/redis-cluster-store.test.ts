import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { type RedisLike, redisStore } from '../../src/stores/redis/index.ts'
import { bucketOf } from '../../src/stores/redis/names.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { drivers as ioredisDrivers } from '../support/ioredis-drivers.ts'
import { drivers as nodeRedisDrivers } from '../support/node-redis-drivers.ts'
import { clusterClients, LEAST_CLUSTER_RIGHTS } from '../support/redis-sets.ts'
import { everyClient } from '../support/redis-stage.ts'
import { atEnd, atLast, failureOf, heldOn, locksOn, until } from '../support/stage.ts'
import { Told } from '../support/told.ts'

const cluster = await startRedisCluster()
atLast(() => cluster.stop())

/** A renewal that one node has not confirmed takes 1.5 s, also for the keys of others, and goes out after a third of this. */
const LEASE_MS = 6000

async function handOver(holders: Locks, waiters: Locks, key: string): Promise<number> {
  const lease = await holders.acquire(key)
  const turn = waiters.acquire(key, { wait: '20s' })
  await until('a waiter', async () => (await holders.inspect(key))?.wanted)
  const start = performance.now()
  await lease.release()
  await (await turn).release()
  return performance.now() - start
}

describe.each(clusterClients(cluster))('a store on a cluster, with $name', ({ name, open }) => {
  it('lists the locks of all masters, page by page', async () => {
    const locks = locksOn(redisStore(await open(), { prefix: `list-${name}` }))
    const keys = Array.from({ length: 250 }, (_, index) => `key ${index}`)
    await Promise.all([...keys, 'another'].map((key) => locks.acquire(key)))
    const pages: string[][] = []
    let next: string | null = ''
    while (next !== null) {
      const page: Awaited<ReturnType<Locks['list']>> = await locks.list({
        prefix: 'key ',
        limit: 40,
        ...(next === '' ? {} : { after: next }),
      })
      pages.push(page.locks.map(({ key }) => key))
      next = page.next
    }
    expect(pages.every((page) => page.length <= 40)).toBe(true)
    expect(pages.flat().toSorted()).toEqual(keys.toSorted())
    expect((await locks.inspect('another'))?.key).toBe('another')
  })

  it('needs no more than the rights that the documentation gives', async () => {
    const login = { username: `least-${name}`, password: 'secret' }
    const rule = [login.username, 'on', `>${login.password}`, ...LEAST_CLUSTER_RIGHTS.split(' ')]
    for (const node of cluster.nodes) await node.command('acl', 'setuser', ...rule)
    const client = clusterClients(cluster, login).find((one) => one.name === name)
    const locks = async (): Promise<Locks> =>
      locksOn(redisStore((await client?.open()) ?? '', { replicas: 1 }), { poll: { max: '15s' } })
    const [one, other] = [await locks(), await locks()]
    const key = `least ${name}`
    expect(await handOver(one, other, key)).toBeLessThan(2000)
    const lease = await other.acquire(key, { rotateToken: '10s' })
    await lease.extend()
    expect((await one.list({ prefix: key })).locks).toHaveLength(1)
    expect((await one.forceRelease(key))?.key).toBe(key)
    const strange = redisStore((await client?.open()) ?? '', { prefix: 'strange' })
    const error = await failureOf(locksOn(strange).tryAcquire(key))
    expect(error.message).toMatch(/the user lacks a right; `docs\/stores\/redis.md` has the rule.*NOPERM/)
    // Nothing that it asked for was refused.
    for (const node of cluster.nodes) {
      const log = JSON.stringify(await node.command('acl', 'log'))
      const refused = [...log.matchAll(/"object","([^"]*)"/g)].map(([, what]) => what ?? '')
      expect(refused.filter((what) => !what.startsWith('strange:'))).toEqual([])
      await node.command('acl', 'log', 'reset')
    }
  })

  it('G7 with `replicas: 1`, grants and renewals of a master without its replica do not count, those of others do', async () => {
    const locks = locksOn(redisStore(await open(), { prefix: `few-${name}`, replicas: 1 }))
    const master = await cluster.masterOf(slotOf('{00}'))
    const replica = await cluster.replicaOf(master)
    const keys = Array.from({ length: 64 }, (_, index) => `key ${index}`)
    const masters = await Promise.all(keys.map((key) => cluster.masterOf(slotOf(`{${bucketOf(key)}}`))))
    const held = await Promise.all(
      keys.map(async (key) => new Told(await locks.acquire(key, { lease: LEASE_MS }), LEASE_MS)),
    )
    atEnd(() => cluster.settled())
    atEnd(() => replica.resume())
    await replica.pause()
    for (const one of held) one.cutOff()
    const outcomes = await Promise.all(
      keys.map((key) => locks.tryAcquire(`another ${key}`).catch((error: Error) => error)),
    )
    const others = await Promise.all(
      keys.map((key) => cluster.masterOf(slotOf(`{${bucketOf(`another ${key}`)}}`))),
    )
    for (const [index, outcome] of outcomes.entries()) {
      if (others[index] === master) expect(outcome).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      else expect(outcome).toMatchObject({ held: true })
    }
    const lost = held.filter((_, index) => masters[index] === master)
    await until('word of what is lost', () => lost.every(({ told }) => told))
    expect(lost.every(({ inTime }) => inTime)).toBe(true)
    expect(held.filter(({ lease }) => lease.held)).toEqual(held.filter((one) => !lost.includes(one)))
    // What does not count is not left behind either.
    const good = others.filter((one) => one !== master).length
    await until('the grants to be undone', async () => {
      return (await heldOn(locks, 'another')).length === good
    })
  })
})

describe('what does not fit a cluster', () => {
  it.each(everyClient)('a client for one server, $name, is refused by every node', async ({ open }) => {
    for (const { url } of cluster.nodes) {
      const locks = locksOn(redisStore(await open(url)))
      expect(await failureOf(locks.tryAcquire('key'))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/part of a cluster; give a client made for a cluster \(CROSSSLOT/),
      })
    }
  })

  const addresses = cluster.nodes.map(({ host, port }) => ({ host, port }))

  it.each(ioredisDrivers)(
    'a `keyPrefix` of $name: braces decide the slot, and empty ones are refused',
    async (driver) => {
      const cases = ['app:', 'app{one}:', 'app{:', 'app}:']
      for (const keyPrefix of cases) {
        const locks = (): Locks =>
          locksOn(redisStore(driver.cluster(addresses, { keyPrefix })), { poll: { max: '15s' } })
        expect(await handOver(locks(), locks(), `key of ${driver.name}`)).toBeLessThan(2000)
      }
      const client = driver.cluster(addresses, { keyPrefix: 'app{}:' })
      expect(() => redisStore(client)).toThrow(/keyPrefix/)
    },
  )

  it('a `keyPrefix` of node-redis 6, the same', async () => {
    const [, driver] = nodeRedisDrivers
    const open = async (keyPrefix: string): Promise<RedisLike> => {
      const rootNodes = addresses.map((socket) => ({ socket }))
      const client = driver?.cluster({ rootNodes, keyPrefix } as never)
      await client?.connect()
      return client as RedisLike
    }
    for (const keyPrefix of ['app:', 'app{one}:']) {
      const locks = async (): Promise<Locks> =>
        locksOn(redisStore(await open(keyPrefix)), { poll: { max: '15s' } })
      expect(await handOver(await locks(), await locks(), 'key of node-redis')).toBeLessThan(2000)
    }
  })
})
