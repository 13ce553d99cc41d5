import { setTimeout as sleep } from 'node:timers/promises'
import { RESP_TYPES, type RedisClientOptions } from 'redis'
import { describe, expect, it } from 'vitest'
import {
  isNodeRedisClient,
  isNodeRedisCluster,
  isNodeRedisPool,
  isNodeRedisSentinel,
  type NodeRedis,
  type NodeRedisPool,
} from '../../src/databases/node-redis.ts'
import type { RedisClient } from '../../src/stores/redis/client.ts'
import { NodeRedisClient } from '../../src/stores/redis/node-redis.ts'
import { startRedis } from '../servers/redis.ts'
import { drivers } from '../support/node-redis-drivers.ts'
import { replicated } from '../support/redis-sets.ts'
import { atEnd, atLast, failureOf, until } from '../support/stage.ts'

const server = await startRedis()
const replica = await startRedis({ settings: { replicaof: `${server.host} ${server.port}` } })
atLast(() => Promise.all([server.stop(), replica.stop()]))
await replicated(server, 1)

const REPLY = "return {1, 'text', false, {KEYS[1], ARGV[1]}}"
const WRITE = "return redis.call('incr', KEYS[1])"

function ofUser(client: NodeRedis | NodeRedisPool): RedisClient {
  const adapter = new NodeRedisClient(client)
  atEnd(() => adapter.close())
  return adapter
}

async function shaOf(text: string): Promise<string> {
  return String(await server.command('script', 'load', text))
}

describe.each(drivers)('$name', (driver) => {
  const { url } = server
  const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String }
  const mapped = { commandOptions: { typeMapping } } as unknown as RedisClientOptions

  it.each<[string, RedisClientOptions]>([
    ['as it comes', {}],
    ['of RESP 2', { RESP: 2 }],
    ['of RESP 3', { RESP: 3 }],
    ['of RESP 2 that wants other types', { RESP: 2, ...mapped }],
    ['of RESP 3 that wants other types', { RESP: 3, ...mapped }],
  ])('a client %s gives texts, numbers and null', async (_, options) => {
    const user = driver.client({ url, ...options })
    await user.connect()
    const client = ofUser(user)
    expect(await client.eval(REPLY, ['key'], ['arg'])).toEqual([1, 'text', null, ['key', 'arg']])
    expect(await client.evalSha(await shaOf(REPLY), ['key'], ['arg'])).toHaveLength(4)
    expect(await client.evalShaAndWait(await shaOf(WRITE), ['counted'], [], 1, 1000)).toEqual([
      expect.any(Number),
      1,
    ])
    await server.command('set', 'scanned', 1)
    const [scanner, ...others] = await client.scanners()
    expect(others).toEqual([])
    expect(await scanner?.scan('0', 'scan*', 1000)).toEqual({ cursor: '0', names: ['scanned'] })
    expect((await failureOf(client.evalSha('0'.repeat(40), [], []))).message).toMatch(/^NOSCRIPT/)
    expect(await failureOf(client.evalShaAndWait('0'.repeat(40), [], [], 0, 1))).toMatchObject({
      message: expect.stringMatching(/^NOSCRIPT/),
    })
  })

  it('a pool does the same, each call on one of its connections', async () => {
    const user = driver.pool({ url })
    await user.connect()
    const client = ofUser(user)
    expect(await client.eval(REPLY, ['key'], ['arg'])).toEqual([1, 'text', null, ['key', 'arg']])
    const sha = await shaOf(WRITE)
    const all = await Promise.all(
      Array.from({ length: 20 }, () => client.evalShaAndWait(sha, ['pooled'], [], 1, 1000)),
    )
    expect(all.map(([, replicas]) => replicas)).toEqual(all.map(() => 1))
  })

  it('a WAIT that no replica answers in time says how few there are', async () => {
    const user = driver.client({ url })
    await user.connect()
    const sha = await shaOf(WRITE)
    await replica.pause()
    try {
      expect(await ofUser(user).evalShaAndWait(sha, ['key'], [], 1, 50)).toEqual([expect.any(Number), 0])
    } finally {
      replica.resume()
    }
  })

  it('a key prefix is put before keys, and not before channels and patterns', async () => {
    const user = driver.client({ url, keyPrefix: 'app:' } as RedisClientOptions)
    await user.connect()
    const client = ofUser(user)
    // Version 5 knows no prefix.
    const prefix = driver.packageName === 'redis' ? '' : 'app:'
    expect(client.keyPrefix).toBe(prefix)
    expect(await client.eval('return KEYS[1]', ['key'], [])).toBe(`${prefix}key`)
  })

  it('a client that is not connected says so at once, and one that was closed', async () => {
    const user = driver.client({ url })
    const client = ofUser(user)
    for (const call of [() => client.eval(REPLY, [], []), () => client.evalShaAndWait('', [], [], 0, 1)]) {
      expect((await failureOf(call())).message).toMatch(
        /not connected; call `await client.connect\(\)` first/,
      )
    }
    await user.connect()
    expect(await client.eval('return 1', [], [])).toBe(1)
    user.destroy()
    expect((await failureOf(client.eval(REPLY, [], []))).message).toMatch(/was closed/)
  })

  it('a client that gave up to reconnect says why', async () => {
    const own = await startRedis()
    atEnd(() => own.stop())
    const user = driver.client({ url: own.url, socket: { reconnectStrategy: false } })
    await user.connect()
    const client = ofUser(user)
    await client.eval('return 1', [], [])
    await own.kill()
    await until('it has noticed', () => !user.isOpen)
    const error = await failureOf(client.eval('return 1', [], []))
    expect(error.message).toMatch(/gave up to reconnect/)
    expect(error.cause).toBeInstanceOf(Error)
  })

  it.each([
    ['with an offline queue waits', false],
    ['without one refuses', true],
  ])('a client %s while it reconnects, and goes on', async (_, disableOfflineQueue) => {
    const own = await startRedis()
    atEnd(() => own.stop())
    const user = driver.client({ url: own.url, disableOfflineQueue, socket: { reconnectStrategy: 20 } })
    await user.connect()
    const client = ofUser(user)
    // Nobody else listens to its errors.
    await own.kill()
    await until('it has noticed', () => !user.isReady)
    const call = client.eval('return 1', [], [])
    if (disableOfflineQueue) expect((await failureOf(call)).message).toMatch(/offline/)
    else expect(await Promise.race([call, sleep(100, 'nothing')])).toBe('nothing')
    await own.start()
    if (!disableOfflineQueue) expect(await call).toBe(1)
    await until('it is back', () => user.isReady)
    expect(await client.eval('return 1', [], [])).toBe(1)
  })

  it('who listens to errors after the store was closed hears them', async () => {
    const own = await startRedis()
    atEnd(() => own.stop())
    const user = driver.client({ url: own.url })
    await user.connect()
    await new NodeRedisClient(user).close()
    const errors: unknown[] = []
    user.on('error', (error) => errors.push(error))
    await own.kill()
    await until('an error', () => errors.length > 0)
  })

  it('nothing of it is left on a client that others listen to', async () => {
    const user = driver.client({ url })
    user.on('error', () => {})
    const client = new NodeRedisClient(user)
    expect(user.listenerCount('error')).toBe(2)
    await client.close()
    expect(user.listenerCount('error')).toBe(1)
  })

  it('each kind of client is told from the others', () => {
    const rootNodes = [{ url }]
    const kinds = {
      client: driver.client({ url }),
      pool: driver.pool({ url }),
      cluster: driver.cluster({ rootNodes }),
      sentinel: driver.sentinel({ name: 'any', sentinelRootNodes: [{ host: 'localhost', port: 1 }] }),
    }
    for (const [kind, client] of Object.entries(kinds)) {
      expect([
        isNodeRedisClient(client) && 'client',
        isNodeRedisPool(client) && 'pool',
        isNodeRedisCluster(client) && 'cluster',
        isNodeRedisSentinel(client) && 'sentinel',
      ]).toEqual(['client', 'pool', 'cluster', 'sentinel'].map((one) => one === kind && one))
    }
  })
})
