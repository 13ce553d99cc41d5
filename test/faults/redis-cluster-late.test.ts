import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { RedisClient } from '../../src/stores/redis/client.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { Names } from '../../src/stores/redis/names.ts'
import { NodeRedisClusterClient } from '../../src/stores/redis/node-redis-cluster.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import type { RedisServer } from '../servers/redis.ts'
import { CALM, startRedisCluster } from '../servers/redis-cluster.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { drivers } from '../support/node-redis-drivers.ts'
import { keysIn } from '../support/redis-sets.ts'
import { atEnd, atLast, failureOf } from '../support/stage.ts'

// Nobody is to take over from one that stands still for a while.
const cluster = await startRedisCluster({ settings: CALM })
atLast(() => cluster.stop())

/** By then, whoever asked has been told that it failed. */
const LATE_MS = 2700

const WRITE = "return redis.call('incr', KEYS[1])"
const loaded = await Promise.all(cluster.nodes.map((node) => node.command('script', 'load', WRITE)))
const sha = String(loaded[0])

async function otherThan(node: RedisServer): Promise<RedisServer> {
  return (await cluster.masters()).find((one) => one !== node) as RedisServer
}

describe.each(drivers)('G5 on a cluster, with $name', (driver) => {
  const rootNodes = cluster.urls.map((url) => ({ url }))

  async function open(options = {}): Promise<RedisClient> {
    const user = driver.cluster({ rootNodes, ...options })
    await user.connect()
    const client = new NodeRedisClusterClient(user)
    atEnd(() => client.close())
    return client
  }

  it('what is sent to and fro between two nodes is not sent any more when one of them would take it', async () => {
    const client = await open()
    const key = `{31}${driver.name}`
    const slot = slotOf(key)
    const from = await cluster.masterOf(slot)
    const { to } = await cluster.beginMove(slot, await otherThan(from))
    await to.command('cluster', 'setslot', slot, 'stable')
    const asked = failureOf(client.evalShaAndWait(sha, [key], [], 1, 1000))
    await sleep(LATE_MS)
    await from.command('cluster', 'setslot', slot, 'stable')
    expect((await asked).message).toMatch(/^too many redirections/)
    await sleep(500)
    expect(await from.command('exists', key)).toBe(0)
  })

  it('what waited for a connection is not sent when there is one', async () => {
    const client = await open({ minimizeConnections: true })
    const key = `{32}${driver.name}`
    const node = await cluster.masterOf(slotOf(key))
    await node.pause()
    atEnd(() => node.resume())
    const calls = [client.evalSha(sha, [key], []), client.evalShaAndWait(sha, [key], [], 1, 1000)]
    const asked = Promise.all(calls.map((call) => failureOf(call)))
    await sleep(LATE_MS)
    node.resume()
    for (const { message } of await asked) expect(message).toMatch(/^given up: no connection answered/)
    await sleep(200)
    expect(await node.command('exists', key)).toBe(0)
  })

  it('what waits for a slot that is on its way is not sent after the others were told of', async () => {
    const user = driver.cluster({ rootNodes })
    await user.connect()
    const prefix = `late-${driver.packageName}`
    const store = redisStore(user, { prefix })
    atEnd(() => store.close())
    const names = new Names(prefix, '')
    const [before, fresh] = keysIn('33', 2) as [string, string]
    const [elsewhere] = keysIn('34', 1) as [string]
    await grantOf(store, askFor(before))
    const slot = slotOf('{33}')
    const move = await cluster.beginMove(slot, await otherThan(await cluster.masterOf(slot)))
    const answers = await store.acquire([askFor(fresh), askFor(elsewhere)])
    expect(answers).toMatchObject([
      { error: { message: expect.stringContaining('gave no answer in time, while others did') } },
      { granted: true },
    ])
    await move.finish()
    // It would have been tried for 1.6 s.
    await sleep(2000)
    expect(await move.to.command('exists', names.record(fresh))).toBe(0)
    expect(await move.to.command('exists', names.record(before))).toBe(1)
  })
})
