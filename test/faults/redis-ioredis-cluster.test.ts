import { type EventEmitter, once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { IoredisClusterClient } from '../../src/stores/redis/ioredis-cluster.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import type { RedisServer } from '../servers/redis.ts'
import { CALM, startRedisCluster } from '../servers/redis-cluster.ts'
import { drivers, scriptOf } from '../support/ioredis-drivers.ts'
import { atLast, failureOf, until } from '../support/stage.ts'

const cluster = await startRedisCluster({ settings: CALM })
atLast(() => cluster.stop())
const [first, second, third] = (await cluster.masters()) as [RedisServer, RedisServer, RedisServer]
const startups = [{ host: first.host, port: first.port }]

const SET = scriptOf("redis.call('set', KEYS[1], ARGV[1]) return {KEYS[1], redis.call('get', KEYS[1]), 7}")

async function loadEverywhere(): Promise<void> {
  for (const master of await cluster.masters()) await master.command('script', 'load', SET.text)
}
await loadEverywhere()

/** Moves the slot to another master than it is on. */
async function moveAway(slot: number): Promise<void> {
  const from = await cluster.masterOf(slot)
  await cluster.moveSlot(slot, from === second ? third : second)
}

const KEYS = Array.from({ length: 64 }, (_, bucket) => `p:{${bucket}}:key`)

it('a slot is where the servers say', async () => {
  for (const name of ['', 'a', '{}', '{}a', 'a{b}c', 'a{b}{c}', '{{b}}', 'a}b{c}', 'ü{ü}', 'a{', 'a{}{b}']) {
    expect([name, slotOf(name)]).toEqual([name, await cluster.slotOf(name)])
  }
})

describe.each(drivers)('$name', (driver) => {
  it.each([
    ['as it comes', {}],
    ['lazy', { lazyConnect: true }],
    ['without an offline queue', { enableOfflineQueue: false }],
    ['lazy, without an offline queue', { enableOfflineQueue: false, lazyConnect: true }],
    ['with pipelines of its own', { enableAutoPipelining: true }],
    ['that reads from replicas', { scaleReads: 'slave' }],
  ])('a client %s runs scripts on all nodes, many at once', async (_, options) => {
    const client = new IoredisClusterClient(driver.cluster(startups, options))
    const replies = await Promise.all(KEYS.map((key) => client.evalSha(SET.sha, [key], ['value'])))
    expect(replies).toEqual(KEYS.map((key) => [key, 'value', 7]))
    const waited = await Promise.all(
      KEYS.map((key) => client.evalShaAndWait(SET.sha, [key], ['other'], 1, 1000)),
    )
    expect(waited).toEqual(KEYS.map((key) => [[key, 'other', 7], 1]))
    expect(await client.eval(SET.text, ['key'], ['third'])).toEqual(['key', 'third', 7])
    expect([client.keyPrefix, client.cluster]).toEqual(['', true])
  })

  it('scanners are the masters, in order, and give the names of all keys between them', async () => {
    const client = new IoredisClusterClient(
      driver.cluster(startups, { keyPrefix: 'app:', lazyConnect: true }),
    )
    const scanners = await client.scanners()
    const masters = (await cluster.masters()).map(({ host, port }) => `${host}:${port}`)
    expect(scanners.map(({ name }) => name)).toEqual(masters.sort())
    await Promise.all(KEYS.map((key) => client.evalSha(SET.sha, [key], ['value'])))
    const found = await Promise.all(scanners.map((scanner) => scanner.scan('0', 'app:p:*', 10_000)))
    expect(found.flatMap(({ names }) => names).sort()).toEqual(KEYS.map((key) => `app:${key}`).sort())
    expect(found.map(({ cursor }) => cursor)).toEqual(['0', '0', '0'])
  })

  it('a key prefix of the options for nodes is told, too', async () => {
    const client = new IoredisClusterClient(driver.cluster(startups, { redisOptions: { keyPrefix: 'app:' } }))
    expect(client.keyPrefix).toBe('app:')
    expect(await client.evalSha(SET.sha, ['{3}'], ['value'])).toEqual(['app:{3}', 'value', 7])
  })

  it('a script that a server does not know is an error of the server, alone or with WAIT', async () => {
    const client = new IoredisClusterClient(driver.cluster(startups))
    const unknown = scriptOf('return "never loaded"').sha
    expect((await failureOf(client.evalSha(unknown, ['key'], []))).message).toMatch(/^NOSCRIPT/)
    expect((await failureOf(client.evalShaAndWait(unknown, ['key'], [], 0, 100))).message).toMatch(
      /^NOSCRIPT/,
    )
  })

  it.each([
    ['used before', true],
    ['never used', false],
  ])('a closed client, %s, refuses at once', async (_, used) => {
    const user = driver.cluster(startups, { lazyConnect: true, enableAutoPipelining: true })
    const client = new IoredisClusterClient(user)
    if (used) await client.evalSha(SET.sha, ['key'], ['value'])
    const [nodes, end] = [user.nodes('all'), once(user as unknown as EventEmitter, 'end')]
    user.disconnect()
    await end
    // Each that ends takes it out of its end again.
    await until('the connections to end', () => nodes.every(({ status }) => status === 'end'))
    for (const call of [
      client.evalSha(SET.sha, ['key'], ['value']),
      client.evalShaAndWait(SET.sha, ['key'], ['value'], 0, 100),
      client.scanners(),
    ]) {
      expect((await failureOf(call)).message).toBe('Connection is closed.')
    }
  })

  it('a cluster that is not there fails a call without an offline queue with what was wrong', async () => {
    const options = { enableOfflineQueue: false, lazyConnect: true }
    const client = new IoredisClusterClient(driver.cluster([{ host: '127.0.0.1', port: 1 }], options))
    expect((await failureOf(client.evalSha(SET.sha, ['key'], ['value']))).message).toMatch(/slots cache/)
  })

  it.each([
    ['', {}],
    [', with pipelines of its own', { enableAutoPipelining: true }],
  ])('a slot that was moved is followed%s', async (_, options) => {
    const client = new IoredisClusterClient(driver.cluster(startups, options))
    await Promise.all(KEYS.map((key) => client.evalSha(SET.sha, [key], ['before'])))
    await moveAway(slotOf('{7}'))
    await loadEverywhere()
    const replies = await Promise.all(KEYS.map((key) => client.evalSha(SET.sha, [key], ['after'])))
    expect(replies).toEqual(KEYS.map((key) => [key, 'after', 7]))
    await moveAway(slotOf('{8}'))
    const key = 'p:{8}:key'
    expect(await client.evalShaAndWait(SET.sha, [key], ['after'], 1, 1000)).toEqual([[key, 'after', 7], 1])
  })

  it('a slot on its way is followed, with WAIT once it has arrived', async () => {
    const client = new IoredisClusterClient(driver.cluster(startups))
    const [staying, sent] = ['p:{9}:staying', 'p:{9}:sent']
    for (const key of [staying, sent]) await client.evalSha(SET.sha, [key], ['before'])
    const slot = slotOf('{9}')
    const from = await cluster.masterOf(slot)
    const move = await cluster.beginMove(slot, from === second ? third : second)
    await move.send(sent)
    for (const key of [staying, sent]) {
      expect(await client.evalSha(SET.sha, [key], ['on the way'])).toEqual([key, 'on the way', 7])
    }
    const waiting = client.evalShaAndWait(SET.sha, [sent], ['arrived'], 1, 1000)
    await move.finish()
    await cluster.settled()
    expect(await waiting).toEqual([[sent, 'arrived', 7], 1])
  })
})
