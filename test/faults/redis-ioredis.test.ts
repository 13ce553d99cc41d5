import { describe, expect, it } from 'vitest'
import { IoredisClient } from '../../src/stores/redis/ioredis.ts'
import { isIoredis, isIoredisCluster } from '../../src/databases/ioredis.ts'
import { startRedis } from '../servers/redis.ts'
import { tcpProxy } from '../servers/tcp-proxy.ts'
import { drivers, scriptOf } from '../support/ioredis-drivers.ts'
import { atEnd, atLast, failureOf, until } from '../support/stage.ts'

const server = await startRedis({ settings: { requirepass: 'secret', 'enable-debug-command': 'local' } })
atLast(() => server.stop())
const { host, port } = server
const at = { host, port, password: 'secret' }

const SET = scriptOf("redis.call('set', KEYS[1], ARGV[1]) return {KEYS[1], redis.call('get', KEYS[1]), 7}")
await server.command('script', 'load', SET.text)

describe.each(drivers)('$name', (driver) => {
  it('is told from a cluster and from other things', () => {
    const redis = driver.redis({ ...at, lazyConnect: true })
    const cluster = driver.cluster([at], { lazyConnect: true })
    expect([isIoredis(redis), isIoredisCluster(redis)]).toEqual([true, false])
    expect([isIoredis(cluster), isIoredisCluster(cluster)]).toEqual([false, true])
    for (const other of [redis.pipeline(), {}, null, 'redis://']) {
      expect([isIoredis(other), isIoredisCluster(other)]).toEqual([false, false])
    }
  })

  it.each([
    ['as it comes', {}],
    ['lazy', { lazyConnect: true }],
    ['without an offline queue', { enableOfflineQueue: false }],
    ['lazy, without an offline queue', { enableOfflineQueue: false, lazyConnect: true }],
    ['with pipelines of its own', { enableAutoPipelining: true }],
    ['that retries for ever', { maxRetriesPerRequest: null }],
    ['with a time limit', { commandTimeout: 1000 }],
    ['without a ready check', { enableReadyCheck: false }],
    ['on another database', { db: 3 }],
  ])('a client %s runs scripts, many at once', async (_, options) => {
    const client = new IoredisClient(driver.redis({ ...at, ...options }))
    const keys = Array.from({ length: 30 }, (__, index) => `at once ${index}`)
    const replies = await Promise.all(keys.map((key) => client.evalSha(SET.sha, [key], ['value'])))
    expect(replies).toEqual(keys.map((key) => [key, 'value', 7]))
    expect(await client.eval(SET.text, ['key'], ['other'])).toEqual(['key', 'other', 7])
    expect(await client.evalShaAndWait(SET.sha, ['key'], ['third'], 0, 100)).toEqual([['key', 'third', 7], 0])
    const [scanner] = await client.scanners()
    expect((await scanner?.scan('0', 'at once 1*', 1000))?.names.sort()).toEqual(
      keys.filter((key) => key.startsWith('at once 1')).sort(),
    )
    expect([client.keyPrefix, client.cluster]).toEqual(['', false])
  })

  it('a key prefix is before keys, and told; not before patterns', async () => {
    const client = new IoredisClient(driver.redis({ ...at, keyPrefix: 'app:' }))
    expect(client.keyPrefix).toBe('app:')
    expect(await client.evalSha(SET.sha, ['prefixed'], ['value'])).toEqual(['app:prefixed', 'value', 7])
    const [scanner] = await client.scanners()
    expect((await scanner?.scan('0', 'app:pre*', 1000))?.names).toEqual(['app:prefixed'])
    const [reply] = await client.evalShaAndWait(SET.sha, ['prefixed'], ['value'], 0, 100)
    expect(reply).toEqual(['app:prefixed', 'value', 7])
  })

  it('numbers are text with `stringNumbers`, but not how many replicas have it', async () => {
    const client = new IoredisClient(driver.redis({ ...at, stringNumbers: true }))
    const [reply, replicas] = await client.evalShaAndWait(SET.sha, ['key'], ['value'], 0, 100)
    expect([reply, replicas]).toEqual([['key', 'value', '7'], 0])
  })

  it('a script that the server does not know is an error of the server, alone or with WAIT', async () => {
    const client = new IoredisClient(driver.redis(at))
    const unknown = scriptOf('return "never loaded"').sha
    expect((await failureOf(client.evalSha(unknown, ['key'], []))).message).toMatch(/^NOSCRIPT/)
    expect((await failureOf(client.evalShaAndWait(unknown, ['key'], [], 0, 100))).message).toMatch(
      /^NOSCRIPT/,
    )
  })

  it('a closed client refuses at once', async () => {
    const redis = driver.redis(at)
    const client = new IoredisClient(redis)
    await client.evalSha(SET.sha, ['key'], ['value'])
    redis.disconnect()
    await until('the end', () => redis.status === 'end')
    for (const call of [
      client.evalSha(SET.sha, ['key'], ['value']),
      client.eval(SET.text, ['key'], ['value']),
      client.evalShaAndWait(SET.sha, ['key'], ['value'], 0, 100),
      client.scanners(),
    ]) {
      expect((await failureOf(call)).message).toBe('Connection is closed.')
    }
  })

  it.each([
    ['a wrong password', { password: 'wrong' }, /WRONGPASS/],
    [
      'a wrong password, without an offline queue',
      { password: 'wrong', enableOfflineQueue: false },
      /WRONGPASS/,
    ],
    ['no server, without an offline queue', { port: 1, enableOfflineQueue: false }, /ECONNREFUSED/],
    [
      'TLS on a plain port, without an offline queue',
      { tls: {}, enableOfflineQueue: false, connectTimeout: 200 },
      /ETIMEDOUT/,
    ],
    ['no server, no retries', { port: 1, maxRetriesPerRequest: 0 }, /max retries per request/],
  ])('%s fails with what was wrong', async (_, options, message) => {
    const client = new IoredisClient(driver.redis({ ...at, ...options }))
    expect((await failureOf(client.evalSha(SET.sha, ['key'], ['value']))).message).toMatch(message)
  })

  it('a server that is silent fails a call after `commandTimeout`', async () => {
    const proxy = await tcpProxy(port)
    atEnd(() => proxy.close())
    const redis = driver.redis({ ...at, port: proxy.port, commandTimeout: 100 })
    const client = new IoredisClient(redis)
    // Not by a call, which would have no more time for it.
    await until('a connection', () => redis.status === 'ready')
    proxy.freeze()
    const calls = [
      client.evalSha(SET.sha, ['key'], ['value']),
      client.evalShaAndWait(SET.sha, ['key'], ['value'], 0, 50),
    ]
    for (const call of calls) expect((await failureOf(call)).message).toBe('Command timed out')
  })

  it('close() ends what it was told to end, and leaves the listeners of others as they were', async () => {
    const redis = driver.redis({ ...at, enableOfflineQueue: false })
    const counts = (): number[] =>
      ['error', 'ready', 'close', 'end'].map((event) =>
        (redis as unknown as { listenerCount(name: string): number }).listenerCount(event),
      )
    const before = counts()
    let ended = 0
    const client = new IoredisClient(redis, async () => void (ended += 1))
    await client.evalSha(SET.sha, ['key'], ['value'])
    expect(counts()[0]).toBe(before[0])
    await client.close()
    expect([ended, redis.status]).toEqual([1, 'ready'])
  })
})
