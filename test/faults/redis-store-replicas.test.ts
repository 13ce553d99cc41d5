import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import { settled } from '../servers/settled.ts'
import { askFor } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  callsOf,
  everyClient,
  failureOf,
  leftOf,
  locksOn,
  nameOf,
  recordOf,
  storeOn,
  until,
} from '../support/redis-stage.ts'
import { Told } from '../support/told.ts'

const server = await startRedis()
atLast(() => server.stop())
const replica = await startRedis({ settings: { replicaof: `127.0.0.1 ${server.port}` } })
atLast(() => replica.stop())
const attached = (): Promise<void> =>
  settled('the replica', async () => {
    const info = String(await server.command('info', 'replication'))
    return info.includes('state=online') ? undefined : info
  })
await attached()

/** Stands still until the end of the test, or `resume`. */
async function stopReplica(): Promise<void> {
  await replica.pause()
  atEnd(() => replica.resume())
}

const tooFew = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(/0 of 1 replicas had it in time/),
}

describe.each(everyClient)('$name: with `replicas: 1`', (client) => {
  it('G3 a grant, a renewal and a release work, and the replica has the record when the grant is told', async () => {
    const locks = locksOn(storeOn(await client.open(server.url), { replicas: 1 }))
    const key = `there of ${client.name}`
    const lease = await locks.acquire(key)
    expect(await recordOf(replica, nameOf(key))).toMatchObject({ grant: Number(lease.token / 1024n) })
    for (const _ of [1, 2, 3]) await lease.extend()
    expect(await lease.release()).toBe(true)
    expect((await locks.acquire(key)).token).toBeGreaterThan(lease.token)
  })

  it.each(['', ', right after SCRIPT FLUSH'])(
    'G3 a grant that the replica did not see is taken back and reported%s',
    async (when) => {
      const locks = locksOn(storeOn(await client.open(server.url), { replicas: 1 }))
      const key = `unseen of ${client.name}${when}`
      await locks.inspect(key)
      await stopReplica()
      if (when !== '') await server.command('script', 'flush')
      expect(await failureOf(locks.tryAcquire(key))).toMatchObject(tooFew)
      await until('a free key', async () => (await server.command('exists', nameOf(key))) === 0)
      replica.resume()
      await attached()
      expect(await locks.acquire(key, { wait: '20s' })).toBeDefined()
    },
  )

  it('G2 a lease whose renewals the replica does not see is lost in time', async () => {
    const locks = locksOn(storeOn(await client.open(server.url), { replicas: 1 }), { lease: '3s' })
    const lease = await locks.acquire(`lost of ${client.name}`)
    // So that the server knows the script.
    await lease.extend()
    const told = new Told(lease, 3000)
    await stopReplica()
    // Not before: a renewal could still move it.
    told.cutOff(await leftOf(server, lease.key))
    await until('the news', () => told.told)
    expect(told.inTime).toBe(true)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', cause: tooFew })
  })

  it('G1 an ask that too few replicas saw takes nothing back that a repeated one was granted', async () => {
    const [store, other] = [
      storeOn(await client.open(server.url), { replicas: 1 }),
      storeOn(await client.open(server.url), { replicas: 1 }),
    ]
    const ask = askFor(`repeated of ${client.name}`)
    // So that the server knows the script.
    for (const each of [store, other]) await each.acquire([askFor(`${ask.key}, before`)])
    await stopReplica()
    await server.command('config', 'resetstat')
    // As core does when the first has not been answered in time; here on another connection.
    const first = store.acquire([ask])
    await until('the first WAIT', async () => (await callsOf(server)).wait === 1)
    await new Promise((resolve) => setTimeout(resolve, 850))
    const second = other.acquire([ask])
    expect(await first).toMatchObject([{ error: tooFew }])
    replica.resume()
    expect(await second).toMatchObject([{ granted: true }])
    expect(await other.renew([ask])).toMatchObject([{ renewed: true }])
  })

  it('what was not granted needs no replica', async () => {
    const store = storeOn(await client.open(server.url), { replicas: 1 })
    const held = askFor(`denied of ${client.name}`)
    await store.acquire([held])
    await stopReplica()
    expect(await store.acquire([askFor(held.key)])).toMatchObject([{ granted: false }])
    expect(await store.release([held])).toMatchObject([{ released: true }])
  })
})
