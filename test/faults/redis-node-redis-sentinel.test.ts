import { RESP_TYPES } from 'redis'
import { describe, expect, it } from 'vitest'
import type { RedisClient } from '../../src/stores/redis/client.ts'
import { NodeRedisSentinelClient } from '../../src/stores/redis/node-redis-sentinel.ts'
import { startSentinel } from '../servers/redis-sentinel.ts'
import { Heard } from '../support/heard.ts'
import { drivers } from '../support/node-redis-drivers.ts'
import { atEnd, atLast, failureOf, until } from '../support/stage.ts'

const set = await startSentinel()
atLast(() => set.stop())

/** All that do not run. */
async function restart(): Promise<void> {
  for (const node of set.nodes) if (!node.running) await node.start()
  await set.settled()
}

const BYTES = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String } }
const WRITE = "return redis.call('incr', KEYS[1])"

describe.each(drivers)('$name', (driver) => {
  async function stage(options = {}): Promise<{ client: RedisClient; heard: Heard }> {
    const user = driver.sentinel({ name: set.name, sentinelRootNodes: set.sentinels, ...options })
    await user.connect()
    const client = new NodeRedisSentinelClient(user)
    atEnd(() => client.close())
    const heard = new Heard()
    client.listen(heard).add('a')
    await heard.until('up a')
    return { client, heard }
  }

  it.each([
    ['as it comes', {}],
    ['with several connections', { masterPoolSize: 3 }],
    ['with a connection set apart', { masterPoolSize: 2, reserveClient: true }],
    ['that reads from replicas', { replicaPoolSize: 1 }],
    ['that gives bytes', { commandOptions: BYTES, nodeClientOptions: { RESP: 3, commandOptions: BYTES } }],
  ])('a client %s calls scripts on the master, waits for replicas, scans and listens', async (_, options) => {
    const { client, heard } = await stage(options)
    const master = await set.master()
    const sha = String(await master.command('script', 'load', WRITE))
    const calls = Array.from({ length: 10 }, () => client.evalShaAndWait(sha, ['counted'], [], 2, 1000))
    for (const [, replicas] of await Promise.all(calls)) expect(replicas).toBe(2)
    expect(await client.eval("return {1, 'a', false}", [], [])).toEqual([1, 'a', null])
    const [scanner] = await client.scanners()
    expect(scanner?.name).toBe(`${master.host}:${master.port}`)
    expect(await scanner?.scan('0', 'count*', 1000)).toEqual({ cursor: '0', names: ['counted'] })
    expect(await master.command('publish', 'a', 'message')).toBe(1)
    await heard.until('a: message')
  })

  it('a client that is not connected says so at once, and one that was closed', async () => {
    const user = driver.sentinel({ name: set.name, sentinelRootNodes: set.sentinels })
    const client = new NodeRedisSentinelClient(user)
    atEnd(() => client.close())
    const call = (): Promise<unknown> => client.eval('return 1', [], [])
    expect((await failureOf(call())).message).toMatch(/not connected; call `await client.connect\(\)` first/)
    await user.connect()
    expect(await call()).toBe(1)
    await user.destroy()
    expect((await failureOf(call())).message).toMatch(/was closed/)
  })

  it.each(['is killed', 'is told to follow'])(
    'when the master %s, calls and channels go to the new one',
    async (how) => {
      const { client, heard } = await stage()
      const old = await set.master()
      if (how === 'is killed') await old.kill()
      else await set.sentinelServers[0]?.command('sentinel', 'failover', set.name)
      await heard.until('down a')
      await until('another master', async () => (await set.master()) !== old)
      // One that comes too early is not kept for long.
      await until('an answer', () => client.eval('return true', ['key'], []).catch(() => false))
      await heard.until('up a', 2)
      const master = await set.master()
      await until(
        'it is listened to',
        async () => (await master.command('publish', 'a', 'from the new one')) === 1,
      )
      await heard.until('a: from the new one')
      const [scanner] = await client.scanners()
      expect(scanner?.name).toBe(`${master.host}:${master.port}`)
      if (!old.running) await old.start()
      await set.settled()
    },
  )

  it('what nobody waits for any more when the outage ends is not sent, and does not pile up', async () => {
    const { client, heard } = await stage()
    atEnd(() => restart())
    await Promise.all(set.nodes.map((node) => node.kill()))
    await heard.until('down a')
    const write = (): Promise<unknown> => client.eval(WRITE, [`late ${driver.name}`], [])
    const calls = [write(), write(), write()]
    const givenUp = Promise.allSettled(calls)
    const reason = expect.objectContaining({ message: expect.stringMatching(/^given up: no connection /) })
    // All but the one that node-redis has, which waits for as long as there is no master.
    expect(await Promise.allSettled(calls.slice(1))).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ])
    await restart()
    expect((await givenUp)[0]).toEqual({ status: 'rejected', reason })
    expect(await write()).toBe(1)
  })
})
