import { once } from 'node:events'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster6 } from 'ioredis-6'
import { describe, expect, it } from 'vitest'
import { type IoredisModule, openIoredis } from '../../src/stores/redis/own-ioredis.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { readRedisUrl } from '../../src/stores/redis/url.ts'
import { freePort } from '../servers/free-port.ts'
import { startRedis } from '../servers/redis.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { startSentinel } from '../servers/redis-sentinel.ts'
import { Heard } from '../support/heard.ts'
import { atEnd, atLast, failureOf, until } from '../support/stage.ts'
import { OwnStage, packages } from '../support/redis-packages.ts'

const [set, cluster] = await Promise.all([startSentinel(), startRedisCluster()])
atLast(() => Promise.all([set.stop(), cluster.stop()]))
const sentinels = set.sentinels.map(({ host, port }) => `${host}:${port}`).join(',')
const nodes = cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(',')
/** Asked first, in vain. */
const nobody = `127.0.0.1:${await freePort()}`

async function answered(stage: OwnStage): Promise<void> {
  await until('an answer', async () => (await stage.eval('return 1', 'key').catch(() => undefined)) === 1)
}

describe.each(packages)('$name', (one) => {
  it('finds the master by its sentinels, and the next one', async () => {
    const stage = new OwnStage(one, `redis+sentinel://${nobody},${sentinels}/${set.name}/1`)
    expect(await stage.eval("return redis.call('set', KEYS[1], 1)", 'key')).toBeTruthy()
    const master = await set.master()
    const clients = String(await master.command('client', 'list'))
    expect(clients).toMatch(/ name=holdfast .* db=1 /)
    const heard = new Heard()
    stage.client.listen(heard).add('a')
    await heard.until('up a')
    await master.kill()
    await heard.until('down a')
    await set.settled()
    await answered(stage)
    await heard.until('up a', 2)
    const next = await set.master()
    await until('it is listened to', async () => (await next.command('publish', 'a', 'news')) === 1)
    await heard.until('a: news')
    await master.start()
    await set.settled()
  })

  it('leaves a server that is no longer the master', async () => {
    const stage = new OwnStage(one, `redis+sentinel://${sentinels}/${set.name}`)
    await answered(stage)
    const old = await set.master()
    await set.sentinelServers[0]?.command('sentinel', 'failover', set.name)
    await until('another master', async () => (await set.master()) !== old)
    await until('a write', async () => {
      const written = stage.eval("return redis.call('incr', KEYS[1])", 'written')
      return (await written.catch(() => undefined)) !== undefined
    })
    await set.settled()
  })

  it('says that the sentinels know no such master', async () => {
    const stage = new OwnStage(one, `redis+sentinel://${sentinels}/other`)
    expect((await failureOf(stage.eval('return 1'))).message).toMatch(/sentinel.*(other|No such master)/)
  })

  it('finds the nodes of a cluster, also after one was lost', async () => {
    const stage = new OwnStage(one, `redis+cluster://${nobody},${nodes}`)
    const buckets = Array.from({ length: 12 }, (_, bucket) => `{${bucket}}key`)
    for (const key of buckets) expect(await stage.eval('return KEYS[1]', key)).toBe(key)
    const heard = new Heard()
    const listening = stage.client.listen(heard)
    for (const key of buckets) listening.add(key)
    for (const key of buckets) await heard.until(`up ${key}`)
    const channel = buckets[0] as string
    const master = await cluster.masterOf(slotOf(channel))
    await master.kill()
    await heard.until(`down ${channel}`)
    const asking = setInterval(() => void stage.eval('return 1', channel).catch(() => undefined), 100)
    atEnd(() => clearInterval(asking))
    await cluster.settled()
    for (const key of buckets) {
      await until(`${key} is served`, async () => (await stage.eval('return 1', key).catch(() => 0)) === 1)
    }
    await heard.until(`up ${channel}`, 2)
    await master.start()
    await cluster.settled()
  })

  it('says that a server is no node of a cluster', async () => {
    const server = await startRedis()
    atEnd(() => server.stop())
    const stage = new OwnStage(one, `redis+cluster://127.0.0.1:${server.port}`)
    expect((await failureOf(stage.eval('return 1', 'key'))).message).toMatch(/cluster support disabled/)
  })
})

it('G7 each works again after the nodes said that their cluster is down', async () => {
  const [master] = await cluster.masters()
  if (!master) throw new Error('there is no master')
  const replica = await cluster.replicaOf(master)
  const witness = cluster.nodes.find((node) => node !== master && node !== replica)
  await replica.kill()
  await master.kill()
  await until('the cluster is down', async () =>
    /cluster_state:fail/.test(String(await witness?.command('cluster', 'info'))),
  )
  const stages = packages.map((one) => new OwnStage(one, `redis+cluster://${nodes}`))
  await Promise.all(stages.map((stage) => failureOf(stage.eval('return 1', 'key'))))
  await master.start()
  await replica.start()
  await cluster.settled()
  for (const stage of stages) await answered(stage)
})

interface Pool {
  removeNode(place: string): void
  findOrCreate(address: { host: string; port: number }): Redis
}

it.each([
  ['ioredis 5', Cluster],
  ['ioredis 6', Cluster6 as unknown as typeof Cluster],
])('G12 %s leaves no connection behind that it has forgotten', async (_, Base) => {
  const made: Cluster[] = []
  class Watched extends Base {
    constructor(...args: ConstructorParameters<typeof Cluster>) {
      super(...args)
      made.push(this)
    }
  }
  const module = { Redis, Cluster: Watched } as unknown as IoredisModule
  const { client, ready } = openIoredis(module, readRedisUrl(`redis+cluster://${nodes}`, 'test'))
  await ready()
  const [own] = made as [Cluster]
  const pool = (own as unknown as { connectionPool: Pool }).connectionPool
  const [old] = own.nodes('master') as [Redis]
  const { host = '', port = 0 } = old.options
  // As in a reconnect: an old connection ends when there is a new one to its address, and the pool drops the new one.
  pool.removeNode(`${host}:${port}`)
  const next = pool.findOrCreate({ host, port })
  await next.ping()
  old.disconnect()
  await once(old, 'end')
  await client.close()
  await until('the new one has ended', async () => next.status === 'end')
})
