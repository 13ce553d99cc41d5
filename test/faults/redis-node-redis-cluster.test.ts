import { setTimeout } from 'node:timers/promises'
import type { RedisClusterOptions } from 'redis'
import { describe, expect, it } from 'vitest'
import type { NodeRedisCluster } from '../../src/databases/node-redis.ts'
import type { RedisClient } from '../../src/stores/redis/client.ts'
import { isMoving } from '../../src/stores/redis/failures.ts'
import { NodeRedisClusterClient } from '../../src/stores/redis/node-redis-cluster.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import type { RedisServer } from '../servers/redis.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { Heard } from '../support/heard.ts'
import { drivers } from '../support/node-redis-drivers.ts'
import { atEnd, atLast, failureOf, until } from '../support/stage.ts'

const cluster = await startRedisCluster()
atLast(() => cluster.stop())

const CHANNELS = Array.from({ length: 64 }, (_, bucket) => `p:{${bucket}}:freed:me`)
const WRITE = "return redis.call('incr', KEYS[1])"
const loaded = await Promise.all(cluster.nodes.map((node) => node.command('script', 'load', WRITE)))
const sha = String(loaded[0])

/** Where the key or channel is now. */
async function ownerOf(name: string): Promise<RedisServer> {
  return cluster.masterOf(slotOf(name))
}

async function otherThan(node: RedisServer): Promise<RedisServer> {
  return (await cluster.masters()).find((one) => one !== node) as RedisServer
}

/** As a script does it, on the node of the slot. */
async function publish(channel: string, message: string): Promise<unknown> {
  return (await ownerOf(channel)).command('spublish', channel, message)
}

describe.each(drivers)('$name', (driver) => {
  async function stage(
    options: Partial<RedisClusterOptions> = {},
  ): Promise<{ client: RedisClient; user: NodeRedisCluster }> {
    const user = driver.cluster({ rootNodes: cluster.urls.map((url) => ({ url })), ...options })
    await user.connect()
    const client = new NodeRedisClusterClient(user)
    atEnd(() => client.close())
    return { client, user }
  }

  async function listenToAll(client: RedisClient): Promise<Heard> {
    const heard = new Heard()
    const listening = client.listen(heard)
    for (const channel of CHANNELS) listening.add(channel)
    expect(heard.all).toEqual([])
    for (const channel of CHANNELS) await heard.until(`up ${channel}`)
    return heard
  }

  it('G12 looks for nodes no more when it is closed: else the client would be connected again, for good', async () => {
    const { client, user } = await stage()
    await client.evalSha(sha, ['{a}'], [])
    const suspected = 'p:{1}:suspected'
    client.suspect?.(suspected)
    await client.close()
    ;(user as NodeRedisCluster & { destroy(): void }).destroy()
    client.suspect?.(suspected)
    await setTimeout(500)
    expect(user.nodeByAddress.size).toBe(0)
  })

  it.each<[string, Partial<RedisClusterOptions>]>([
    ['as it comes', {}],
    ['of RESP 2', { RESP: 2 }],
    ['of RESP 3', { RESP: 3 }],
    ['that saves connections', { minimizeConnections: true }],
    ['that reads from replicas', { useReplicas: true }],
  ])('a client %s calls scripts, scans and listens', async (_, options) => {
    const { client } = await stage(options)
    expect(await client.eval("return {1, 'a', false, KEYS[1]}", ['{1}key'], [])).toEqual([
      1,
      'a',
      null,
      '{1}key',
    ])
    for (const bucket of [1, 2, 3, 4]) {
      const [count, replicas] = await client.evalShaAndWait(sha, [`{${bucket}}counted`], [], 1, 1000)
      expect(await client.evalSha(sha, [`{${bucket}}counted`], [])).toBe(Number(count) + 1)
      expect(replicas).toBe(1)
    }
    expect((await failureOf(client.evalSha('0'.repeat(40), ['key'], []))).message).toMatch(/^NOSCRIPT/)
    const scanners = await client.scanners()
    const masters = (await cluster.masters()).map(({ host, port }) => `${host}:${port}`)
    expect(scanners.map(({ name }) => name)).toEqual(masters.sort())
    const pages = await Promise.all(scanners.map((scanner) => scanner.scan('0', '*counted', 1000)))
    const names = pages.flatMap((page) => page.names)
    expect(names.sort()).toEqual([1, 2, 3, 4].map((bucket) => `{${bucket}}counted`))
    const heard = await listenToAll(client)
    expect(await publish(CHANNELS[3] as string, 'message')).toBe(1)
    await heard.until(`${CHANNELS[3]}: message`)
  })

  it('a client that is not connected says so at once, and one that was closed', async () => {
    const user = driver.cluster({ rootNodes: [{ url: cluster.url }] })
    const client = new NodeRedisClusterClient(user)
    atEnd(() => client.close())
    const call = (): Promise<unknown> => client.eval('return 1', ['key'], [])
    expect((await failureOf(call())).message).toMatch(/not connected; call `await client.connect\(\)` first/)
    const connecting = user.connect()
    expect((await failureOf(call())).message).toMatch(/knows no node for slot \d+, or is still connecting/)
    await connecting
    expect(await call()).toBe(1)
    ;(user as NodeRedisCluster & { destroy(): void }).destroy()
    expect((await failureOf(call())).message).toMatch(/was closed/)
  })

  it('calls follow a slot that is moved, and those of several keys wait for the move', async () => {
    const { client } = await stage()
    const name = driver.packageName
    const [old, fresh, another] = [`{5}old ${name}`, `{5}fresh ${name}`, `{5}another ${name}`]
    await client.evalSha(sha, [old], [])
    const from = await ownerOf(old)
    await from.command('config', 'resetstat')
    const move = await cluster.beginMove(slotOf(old), await otherThan(from))
    expect(await client.evalShaAndWait(sha, [old], [], 1, 1000)).toEqual([expect.any(Number), 1])
    expect(await client.evalShaAndWait(sha, [fresh], [], 1, 1000)).toEqual([expect.any(Number), 1])
    expect(await client.evalSha(sha, [another], [])).toEqual(expect.any(Number))
    expect(await move.to.command('cluster', 'countkeysinslot', slotOf(old))).toBe(2)
    const both = client.eval("return #redis.call('mget', KEYS[1], KEYS[2])", [old, fresh], [])
    await until('it is refused for now', async () =>
      String(await from.command('info', 'errorstats')).includes('errorstat_TRYAGAIN'),
    )
    await move.finish()
    expect(await both).toBe(2)
    await cluster.settled()
    const second = await stage()
    await cluster.moveSlot(slotOf(old), from)
    // Nothing else has told this one.
    expect(await second.client.evalShaAndWait(sha, [old], [], 1, 1000)).toEqual([expect.any(Number), 1])
  })

  it('G7 a slot that each of two nodes says the other has is taken for one on its way', async () => {
    const { client } = await stage()
    const key = `{6}absent ${driver.name}`
    const from = await ownerOf(key)
    const { to } = await cluster.beginMove(slotOf(key), await otherThan(from))
    // As after a fail-over of the node that it is moved to.
    await to.command('cluster', 'setslot', slotOf(key), 'stable')
    const calls = [client.eval('return 1', [key], []), client.evalShaAndWait(sha, [key], [], 1, 1000)]
    const failures = await Promise.all(calls.map((call) => failureOf(call)))
    await from.command('cluster', 'setslot', slotOf(key), 'stable')
    expect(failures.map((error) => [error.message, isMoving(error)])).toEqual(
      calls.map(() => [expect.stringMatching(/^too many redirections\. Last error: .*(MOVED|ASK) /), true]),
    )
  })

  it('a channel whose slot was moved is down, found, and up again', async () => {
    const { client } = await stage()
    const heard = await listenToAll(client)
    const channel = CHANNELS[7] as string
    for (let times = 1; times <= 2; times += 1) {
      await cluster.moveSlot(slotOf(channel), await otherThan(await ownerOf(channel)))
      await heard.until(`down ${channel}`, times)
      await heard.until(`up ${channel}`, times + 1)
      expect(await publish(channel, `${times}`)).toBe(1)
      await heard.until(`${channel}: ${times}`)
    }
    for (const one of CHANNELS) {
      await until(`${one} is up`, () => heard.count(`up ${one}`) === heard.count(`down ${one}`) + 1)
    }
  })

  it('after a master was killed, calls and channels go to the one that takes over', async () => {
    const { client } = await stage()
    const heard = await listenToAll(client)
    const channel = CHANNELS[9] as string
    const master = await ownerOf(channel)
    await master.kill()
    await heard.until(`down ${channel}`)
    const answers: unknown[] = []
    // Each call may hang for as long as nobody has the slot; core asks again.
    const asking = setInterval(() => {
      client.eval('return 1', [channel], []).then(
        (answer) => answers.push(answer),
        () => {},
      )
    }, 100)
    await cluster.settled()
    await until('an answer', () => answers.length > 0)
    clearInterval(asking)
    await heard.until(`up ${channel}`, 2)
    expect(await publish(channel, 'from the new one')).toBe(1)
    await heard.until(`${channel}: from the new one`)
    await master.start()
    await cluster.settled()
  })
})
