import { expect, it } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { movingStore } from '../../src/stores/moving/index.ts'
import { redisStore, type RedisLike, type RedisStoreOptions } from '../../src/stores/redis/index.ts'
import { Names } from '../../src/stores/redis/names.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { CALM, startRedisCluster } from '../servers/redis-cluster.ts'
import { drivers as ioredisDrivers } from '../support/ioredis-drivers.ts'
import { clusterClients, keysIn, type SetClient } from '../support/redis-sets.ts'
import { atLast, failureOf, locksOn, until } from '../support/stage.ts'

// Nobody is to take over here, but for the node that is killed.
const cluster = await startRedisCluster({ settings: CALM })
atLast(() => cluster.stop())

const LEASE_MS = 6000
const clients = clusterClients(cluster)

/** Half of the keys are at one node, half at the other, and it stays so until `finish`. */
async function halfMoved(bucket: string, prefixes: readonly string[], keys: readonly string[]) {
  const slot = slotOf(`{${bucket}}`)
  const from = await cluster.masterOf(slot)
  const to = (await cluster.masters()).find((node) => node !== from)
  if (!to) throw new Error('there is one master only')
  const move = await cluster.beginMove(slot, to)
  const sent = keys.slice(0, keys.length / 2)
  for (const prefix of prefixes) await move.send(...sent.map((key) => new Names(prefix, '').record(key)))
  const finish = async (): Promise<void> => {
    await move.finish()
    await cluster.settled()
  }
  return { to, finish }
}

/** Until all of them have been renewed twice since, which is longer than the lease that they had. */
async function renewedTwice(name: string, leases: readonly Lease[]): Promise<void> {
  for (let times = 0; times < 2; times += 1) {
    const deadlines = leases.map((lease) => performance.now() + lease.remainingMs + LEASE_MS / 6)
    await until(`${name}: renewals`, () =>
      leases.every((lease, index) => {
        lease.assertHeld()
        return performance.now() + lease.remainingMs > (deadlines[index] as number)
      }),
    )
  }
}

/** Clients that hold all keys of a bucket, each under names of its own, half of which are at the other node then. */
async function holding(
  bucket: string,
  count: number,
  openers: readonly SetClient[],
  options: RedisStoreOptions = {},
) {
  const keys = keysIn(bucket, count)
  const prefixes = openers.map((_, index) => `b${bucket}-${index}`)
  const all = await Promise.all(
    openers.map(async ({ name, open }, index) => {
      const store = redisStore(await open(), { ...options, prefix: prefixes[index] as string })
      const locks = locksOn(store, { lease: LEASE_MS })
      return { name, leases: await Promise.all(keys.map((key) => locks.acquire(key))) }
    }),
  )
  return { all, ...(await halfMoved(bucket, prefixes, keys)) }
}

it('G3 G7 renewals are the first to meet a slot that is left half way, and a client that never gives up', async () => {
  const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }))
  const patient = ioredisDrivers.map(({ name, cluster: open }) => ({
    name: `${name}, 50 redirections`,
    open: async (): Promise<RedisLike> => open(nodes, { maxRedirections: 50 }),
  }))
  const { all, finish } = await holding('21', 30, [...clients, ...patient])
  await Promise.all(all.map(({ name, leases }) => renewedTwice(name, leases)))
  await finish()
})

it('G3 G7 with `replicas`, renewals find the keys of a slot on its way at either node', async () => {
  const { all, finish } = await holding('22', 10, clients, { replicas: 1 })
  await Promise.all(all.map(({ name, leases }) => renewedTwice(name, leases)))
  await finish()
})

it('a move between stores grants again as soon as the slot has arrived, and says until then why it does not', async () => {
  const keys = keysIn('23', 3)
  const all = await Promise.all(
    clients.map(async ({ name, open }, index) => {
      const from = redisStore(await open(), { prefix: `c${index}` })
      const locks = locksOn(movingStore({ from, to: memoryStore() }), { lease: LEASE_MS })
      await (await locks.acquire(keys[0] as string)).release()
      return { name, locks }
    }),
  )
  const { finish } = await halfMoved('23', [], [])
  for (const { locks } of all) {
    const error = await failureOf(locks.tryAcquire(keys[1] as string))
    expect([error.code, error.message]).toEqual(['STORE_UNAVAILABLE', expect.stringMatching(/being moved/)])
  }
  await finish()
  for (const { locks } of all) expect(await locks.tryAcquire(keys[2] as string)).not.toBeNull()
})

// Last: a node is gone after it. What is rejected and nobody's fails the run.
it('G7 a node that dies while a slot is on its way to it ends no process', async () => {
  const { all, to } = await holding('24', 10, clients)
  const extend = (leases: readonly Lease[]): Promise<unknown> =>
    Promise.allSettled(leases.map((lease) => lease.extend()))
  // From now on each is called for alone, and those that were sent by way of ASK.
  for (let times = 0; times < 3; times += 1) await Promise.all(all.map(({ leases }) => extend(leases)))
  await to.pause()
  const under = all.map(({ leases }) => extend(leases.slice(0, 5)))
  await until('the calls are on their way', () => new Promise((resolve) => setTimeout(resolve, 300, true)))
  await to.kill()
  await Promise.all(under)
})
