import { RESP_TYPES } from 'redis'
import { describe, expect, it } from 'vitest'
import { type FenceIoredis, type FenceNodeRedis, redisFence } from '../../src/fence/index.ts'
import type { RedisLike } from '../../src/stores/redis/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../servers/redis.ts'
import { CALM, startRedisCluster } from '../servers/redis-cluster.ts'
import { drivers as ioredisDrivers } from '../support/ioredis-drivers.ts'
import { drivers as nodeRedisDrivers } from '../support/node-redis-drivers.ts'
import { atLast, failureOf, heldOn, locksOn, until } from '../support/stage.ts'

const server = await startRedis()
atLast(() => server.stop())
const cluster = await startRedisCluster({ settings: CALM })
atLast(() => cluster.stop())

const { host, port } = server
const addresses = cluster.nodes.map((node) => ({ host: node.host, port: node.port }))

/** Texts as bytes, and numbers as texts. */
const typeMapping = {
  [RESP_TYPES.BLOB_STRING]: Buffer,
  [RESP_TYPES.SIMPLE_STRING]: Buffer,
  [RESP_TYPES.NUMBER]: String,
}

function shown(options: object): string {
  return JSON.stringify(options, (_, value: unknown) => (value === typeMapping ? 'bytes' : value))
}

interface Case {
  readonly name: string
  open(): Promise<RedisLike>
  readonly replicas: number
}

const cases: Case[] = []

for (const driver of ioredisDrivers) {
  const given = [
    { stringNumbers: true },
    { keyPrefix: 'app:' },
    { stringNumbers: true, keyPrefix: 'app:' },
    ...(driver.name === 'ioredis 6' ? [{ protocol: 3, stringNumbers: true, replyMapping: 'resp3' }] : []),
  ]
  for (const options of given) {
    const name = `${driver.name} with ${shown(options)}`
    cases.push(
      { name, open: async () => driver.redis({ host, port, ...options }), replicas: 0 },
      {
        name: `a cluster client of ${name}`,
        open: async () => driver.cluster(addresses, { redisOptions: options }),
        replicas: 1,
      },
    )
  }
}

for (const driver of nodeRedisDrivers) {
  const given = [2, 3].flatMap((RESP) => [
    { RESP },
    { RESP, commandOptions: { typeMapping } },
    ...(driver.packageName === 'redis-6'
      ? [{ RESP, keyPrefix: 'app:', commandOptions: { typeMapping } }]
      : []),
  ]) as object[]
  for (const options of given) {
    const name = `${driver.name} with ${shown(options)}`
    const connected = async <C extends { connect(): Promise<unknown> }>(client: C): Promise<C> => {
      await client.connect()
      return client
    }
    cases.push(
      { name, open: async () => connected(driver.client({ url: server.url, ...options })), replicas: 0 },
      {
        name: `a pool of ${name}`,
        open: async () => connected(driver.pool({ url: server.url, ...options })),
        replicas: 0,
      },
      {
        name: `a cluster client of ${name}`,
        open: async () =>
          connected(driver.cluster({ rootNodes: addresses.map((socket) => ({ socket })), ...options })),
        replicas: 1,
      },
    )
  }
  const mapped = (client: object): never =>
    (client as { withTypeMapping(mapping: object): never }).withTypeMapping(typeMapping)
  cases.push(
    {
      name: `${driver.name}, seen through withTypeMapping`,
      open: async () => {
        const client = driver.client({ url: server.url })
        await client.connect()
        return mapped(client)
      },
      replicas: 0,
    },
    {
      name: `a cluster client of ${driver.name}, seen through withTypeMapping`,
      open: async () => {
        const client = driver.cluster({ rootNodes: addresses.map((socket) => ({ socket })) })
        await client.connect()
        return mapped(client)
      },
      replicas: 1,
    },
  )
}

describe.each(cases)('$name', ({ name, open, replicas }) => {
  it('is no different for locks', async () => {
    const prefix = `p${cases.findIndex((one) => one.name === name)}`
    const [locks, others] = [
      locksOn(redisStore(await open(), { prefix, replicas }), { service: 'billing' }),
      locksOn(redisStore(await open(), { prefix, replicas }), { poll: { max: '30s' } }),
    ]
    const lease = await locks.acquire('key', { context: 'ünder', rotateToken: '10s' })
    expect(await others.tryAcquire('key')).toBeNull()
    await lease.extend()
    expect(await others.inspect('key')).toMatchObject({
      grant: Number(lease.token / 1024n),
      holder: { service: 'billing', context: 'ünder' },
      wanted: true,
    })
    await locks.acquire('another')
    expect((await heldOn(others)).map(({ key }) => key).toSorted()).toEqual(['another', 'key'])
    const turn = others.acquire('key', { wait: '20s' })
    await until('the waiter to listen', async () => (await locks.inspect('key'))?.wanted)
    const start = performance.now()
    expect(await lease.release()).toBe(true)
    const next = await turn
    expect(performance.now() - start).toBeLessThan(5000)
    expect(next.token).toBeGreaterThan(lease.token)
    expect(await others.forceRelease('another')).toMatchObject({ key: 'another' })
    expect(await next.release()).toBe(true)
    expect(await heldOn(others)).toEqual([])
  })

  it('is no different for the guard', async () => {
    const client = (await open()) as unknown as FenceIoredis | FenceNodeRedis
    const prefix = `{g}${cases.findIndex((one) => one.name === name)}:`
    const guard = redisFence(client, { prefix })
    const write = (token: bigint): Promise<unknown> =>
      guard.run('stock', token, "redis.call('SET', KEYS[1], ARGV[1]) return { ARGV[1], 7, false }", {
        keys: [`${prefix}written`],
        args: [`by ${token}`],
      })
    const high = 2n ** 63n - 2n
    expect(((await write(high)) as unknown[]).map(String)).toEqual([`by ${high}`, '7', 'null'])
    expect(await guard.highest('stock')).toBe(high)
    expect(await failureOf(write(high - 1n))).toMatchObject({
      code: 'STALE_TOKEN',
      message: expect.stringContaining(String(high)),
    })
    await write(high + 1n)
    expect(await guard.highest('stock')).toBe(high + 1n)
    expect(await guard.forget('stock')).toBe(true)
    expect(await guard.forget('stock')).toBe(false)
    expect(await guard.highest('stock')).toBeNull()
    expect(await guard.run('stock', 1n, '')).toBeNull()
  })
})
