import { describe, expect, it } from 'vitest'
import type { Listening } from '../../src/stores/redis/client.ts'
import { IoredisClusterClient } from '../../src/stores/redis/ioredis-cluster.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import type { RedisServer } from '../servers/redis.ts'
import { CALM, startRedisCluster } from '../servers/redis-cluster.ts'
import { Heard } from '../support/heard.ts'
import { drivers } from '../support/ioredis-drivers.ts'
import { atEnd, atLast, until } from '../support/stage.ts'

const cluster = await startRedisCluster({ settings: CALM })
atLast(() => cluster.stop())

const CHANNELS = Array.from({ length: 64 }, (_, bucket) => `p:{${bucket}}:freed:me`)

/** Where the channel is now. */
async function ownerOf(channel: string): Promise<RedisServer> {
  return cluster.masterOf(slotOf(channel))
}

/** As a script does it, on the node of the slot. */
async function publish(channel: string, message: string): Promise<unknown> {
  return (await ownerOf(channel)).command('spublish', channel, message)
}

async function subscribersAt(node: RedisServer): Promise<number> {
  const list = String(await node.command('client', 'list', 'type', 'pubsub'))
  return list.trim() === '' ? 0 : list.trim().split('\n').length
}

describe.each(drivers)('$name', (driver) => {
  function stage(options = {}): { heard: Heard; listening: Listening } {
    const startups = cluster.nodes.map(({ host, port }) => ({ host, port }))
    const client = new IoredisClusterClient(driver.cluster(startups, options))
    const heard = new Heard()
    atEnd(() => client.close())
    return { heard, listening: client.listen(heard) }
  }

  it.each([
    ['as it comes', {}],
    ['with a key prefix', { keyPrefix: 'app:' }],
    ['with a key prefix for nodes', { redisOptions: { keyPrefix: 'app:' } }],
    ['lazy', { lazyConnect: true }],
    ['without an offline queue', { enableOfflineQueue: false }],
    ['with pipelines of its own', { enableAutoPipelining: true }],
  ])('a client %s hears all channels, on one connection to each master', async (_, options) => {
    const user = driver.cluster(
      cluster.nodes.map(({ host, port }) => ({ host, port })),
      options,
    )
    const client = new IoredisClusterClient(user)
    atEnd(() => client.close())
    await client.scanners()
    const heard = new Heard()
    const listening = client.listen(heard)
    const masters = await cluster.masters()
    await until('those of others to end', async () => {
      const counts = await Promise.all(masters.map(subscribersAt))
      return counts.every((count) => count === 0)
    })
    for (const channel of CHANNELS) listening.add(channel)
    expect(heard.all).toEqual([])
    for (const channel of CHANNELS) await heard.until(`up ${channel}`)
    for (const channel of CHANNELS.slice(0, 8)) {
      expect(await publish(channel, 'message')).toBe(1)
      await heard.until(`${channel}: message`)
    }
    for (const master of masters) expect(await subscribersAt(master)).toBe(1)
    for (const channel of CHANNELS.slice(1)) listening.delete(channel)
    await until('nobody listens', async () => (await publish(CHANNELS[1] as string, 'late')) === 0)
    expect(await publish(CHANNELS[0] as string, 'still')).toBe(1)
    await heard.until(`${CHANNELS[0]}: still`)
    expect(heard.all.filter((one) => one.startsWith('down') || one.endsWith('late'))).toEqual([])
  })

  it('a channel whose slot was moved is down, found, and up again', async () => {
    const { heard, listening } = stage()
    const channel = CHANNELS[5] as string
    for (const one of CHANNELS) listening.add(one)
    for (const one of CHANNELS) await heard.until(`up ${one}`)
    for (let times = 1; times <= 2; times += 1) {
      const from = await ownerOf(channel)
      const to = (await cluster.masters()).find((node) => node !== from) as RedisServer
      await cluster.moveSlot(slotOf(channel), to)
      await heard.until(`down ${channel}`, times)
      await heard.until(`up ${channel}`, times + 1)
      expect(await publish(channel, `${times}`)).toBe(1)
      await heard.until(`${channel}: ${times}`)
    }
    for (const one of CHANNELS) {
      await until(`${one} is up`, () => heard.count(`up ${one}`) === heard.count(`down ${one}`) + 1)
    }
  })

  it('a channel is found though the client has not heard yet that its slot was moved', async () => {
    const { heard, listening } = stage()
    const channel = CHANNELS[6] as string
    listening.add(CHANNELS[0] as string)
    await heard.until(`up ${CHANNELS[0]}`)
    const from = await ownerOf(channel)
    const to = (await cluster.masters()).find((node) => node !== from) as RedisServer
    await cluster.moveSlot(slotOf(channel), to)
    listening.add(channel)
    await heard.until(`up ${channel}`)
    expect(await publish(channel, 'found')).toBe(1)
    await heard.until(`${channel}: found`)
  })

  it('a killed subscriber heals, and those on other nodes do not notice', async () => {
    const { heard, listening } = stage()
    for (const one of CHANNELS) listening.add(one)
    for (const one of CHANNELS) await heard.until(`up ${one}`)
    const node = await ownerOf(CHANNELS[7] as string)
    await node.command('client', 'kill', 'type', 'pubsub')
    for (const channel of CHANNELS) {
      const times = (await ownerOf(channel)) === node ? 1 : 0
      await heard.until(`up ${channel}`, 1 + times)
      expect([channel, heard.count(`down ${channel}`)]).toEqual([channel, times])
    }
  })

  it('the channels of a master that is killed are found on the one that takes over', async () => {
    const { heard, listening } = stage()
    for (const one of CHANNELS) listening.add(one)
    for (const one of CHANNELS) await heard.until(`up ${one}`)
    const node = await ownerOf(CHANNELS[9] as string)
    const patience = async (ms: number): Promise<void> => {
      for (const one of cluster.nodes) await one.command('config', 'set', 'cluster-node-timeout', ms)
    }
    await patience(1000)
    await node.kill()
    await heard.until(`down ${CHANNELS[9]}`)
    await cluster.settled()
    await heard.until(`up ${CHANNELS[9]}`, 2)
    expect(await publish(CHANNELS[9] as string, 'from the new one')).toBe(1)
    await heard.until(`${CHANNELS[9]}: from the new one`)
    await node.start()
    await cluster.settled()
    await patience(CALM['cluster-node-timeout'])
  })
})

it('servers that know no SSUBSCRIBE are asked once, and never up', async () => {
  const old = await startRedisCluster({ settings: { 'rename-command': 'SSUBSCRIBE ""' } })
  atEnd(() => old.stop())
  const [{ host, port }] = (await old.masters()) as [RedisServer]
  for (const driver of drivers) {
    const client = new IoredisClusterClient(driver.cluster([{ host, port }]))
    const heard = new Heard()
    atEnd(() => client.close())
    await client.scanners()
    const listening = client.listen(heard)
    listening.add('a')
    const node = await old.masterOf(slotOf('a'))
    const refusals = async (): Promise<number> => {
      const stats = String(await node.command('info', 'errorstats'))
      return Number(/errorstat_ERR:count=(\d+)/.exec(stats)?.[1] ?? 0)
    }
    await until('the refusal', async () => (await refusals()) > 0)
    await node.command('config', 'resetstat')
    listening.add('b')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect([heard.all, await refusals()]).toEqual([[], 0])
  }
})
