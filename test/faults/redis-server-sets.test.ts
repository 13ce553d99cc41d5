import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RedisCluster, startRedisCluster } from '../servers/redis-cluster.ts'
import { type RedisSentinelSet, startSentinel } from '../servers/redis-sentinel.ts'
import type { RedisServer } from '../servers/redis.ts'

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

function connect(url: string): Redis {
  const client = new Redis(url, { retryStrategy: null })
  client.on('error', () => {})
  endings.push(() => client.disconnect())
  return client
}

describe('a Redis Cluster of one test', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())

  it('has three masters with all slots, and a replica of each', async () => {
    expect(cluster.urls).toHaveLength(6)
    const masters = await cluster.masters()
    expect(new Set(masters)).toEqual(new Set(cluster.nodes.slice(0, 3)))
    expect(await Promise.all(cluster.nodes.slice(0, 3).map((node) => cluster.replicaOf(node)))).toEqual(
      cluster.nodes.slice(3),
    )
    for (const node of cluster.nodes) {
      const info = String(await node.command('cluster', 'info'))
      expect(info).toContain('cluster_state:ok')
      expect(info).toContain('cluster_slots_ok:16384')
    }
  })

  it('moves a slot with its keys and the rest of their time', async () => {
    const slot = await cluster.slotOf('moved')
    const [from, to] = await pair(slot)
    await from.command('set', 'moved', 'value', 'px', 60_000)
    await cluster.moveSlot(slot, to)
    expect(await cluster.masterOf(slot)).toBe(to)
    expect(await to.command('get', 'moved')).toBe('value')
    expect(await to.command('pttl', 'moved')).toBeGreaterThan(0)
    for (const node of cluster.nodes.filter((one) => one !== to))
      await expect(node.command('get', 'moved')).rejects.toThrow(`MOVED ${slot} ${to.host}:${to.port}`)
  })

  it('leaves a slot half moved: who asks for what is gone is sent on', async () => {
    const slot = await cluster.slotOf('{half}')
    const [from, to] = await pair(slot)
    for (const key of ['{half}1', '{half}2']) await from.command('set', key, 'value')
    const move = await cluster.beginMove(slot, to)
    await move.send('{half}1')
    expect(await from.command('get', '{half}2')).toBe('value')
    for (const key of ['{half}1', '{half}absent'])
      await expect(from.command('get', key)).rejects.toThrow(`ASK ${slot} ${to.host}:${to.port}`)
    await expect(from.command('mget', '{half}1', '{half}2')).rejects.toThrow('TRYAGAIN')
    await expect(to.command('get', '{half}1')).rejects.toThrow('MOVED')
    await move.finish()
    await cluster.settled()
    expect(await to.command('mget', '{half}1', '{half}2')).toEqual(['value', 'value'])
  })

  it.each(['killed', 'paused'])('has the replica of a master that is %s take over', async (how) => {
    const slot = await cluster.slotOf('kept')
    const master = await cluster.masterOf(slot)
    const replica = await cluster.replicaOf(master)
    await master.command('set', 'kept', how)
    await expect.poll(async () => replicated(replica, 'kept')).toBe(how)
    if (how === 'killed') await master.kill()
    else await master.pause()
    await cluster.settled()
    expect(await cluster.masterOf(slot)).toBe(replica)
    expect(await replica.command('get', 'kept')).toBe(how)
    if (how === 'killed') await master.start()
    else master.resume()
    await cluster.settled()
    expect(await cluster.replicaOf(replica)).toBe(master)
  })

  /** The master of the slot, and another. */
  async function pair(slot: number): Promise<[RedisServer, RedisServer]> {
    const from = await cluster.masterOf(slot)
    const to = (await cluster.masters()).find((node) => node !== from)
    if (!to) throw new Error('there is one master only')
    return [from, to]
  }

  async function replicated(replica: RedisServer, key: string): Promise<string | null> {
    const client = connect(replica.url)
    await client.readonly()
    return client.get(key)
  }
})

describe('a Redis Sentinel set of one test', () => {
  let set: RedisSentinelSet
  beforeAll(async () => {
    set = await startSentinel()
  })
  afterAll(() => set.stop())

  it('has a master with two replicas, and three sentinels that agree', async () => {
    expect(set.sentinels).toHaveLength(3)
    const master = await set.master()
    expect(master).toBe(set.nodes[0])
    expect(await set.replicas()).toEqual(set.nodes.slice(1))
    expect(await master.command('wait', 2, 5_000)).toBe(2)
    for (const sentinel of set.sentinelServers)
      expect(await sentinel.command('sentinel', 'ckquorum', set.name)).toContain('OK 3 usable Sentinels')
  })

  it.each(['killed', 'paused'])('has a replica of a master that is %s take over', async (how) => {
    const master = await set.master()
    const writer = connect(master.url)
    await writer.set('kept', how)
    expect(await writer.wait(2, 10_000)).toBe(2)
    if (how === 'killed') await master.kill()
    else await master.pause()
    await set.settled()
    const next = await set.master()
    expect(next).not.toBe(master)
    const client = new Redis({ sentinels: set.sentinels, name: set.name })
    client.on('error', () => {})
    endings.push(() => client.disconnect())
    expect(await client.get('kept')).toBe(how)
    if (how === 'killed') await master.start()
    else master.resume()
    await set.settled()
    expect(await set.replicas()).toContain(master)
    await expect(master.command('set', 'kept', 'lost')).rejects.toThrow('READONLY')
  })
})
