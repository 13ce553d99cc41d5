import { expect, it } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { bucketOf } from '../../src/stores/redis/names.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { clusterClients } from '../support/redis-sets.ts'
import { atLast, locksOn, until } from '../support/stage.ts'

const cluster = await startRedisCluster({ settings: { 'cluster-require-full-coverage': 'no' } })
atLast(() => cluster.stop())

it('G7 a master falls silent, and no connection breaks: its keys are served by the one that takes over', async () => {
  const frozen = await cluster.masterOf(slotOf('{00}'))
  const key =
    Array.from({ length: 10_000 }, (_, i) => `key ${i}`).find((name) => bucketOf(name) === '00') ?? ''
  const clients = await Promise.all(
    clusterClients(cluster).map(async ({ name, open }) => ({
      name,
      locks: locksOn(redisStore(await open(), { prefix: name })),
    })),
  )
  const tokens = await Promise.all(clients.map(({ locks }) => locks.using(key, async ({ token }) => token)))
  await frozen.pause()
  await cluster.settled()
  await Promise.all(
    clients.map(async ({ name, locks }, index) => {
      let lease: Lease | null = null
      await until(
        `${name}: a lock`,
        async () => (lease = await locks.tryAcquire(key).catch(() => null)) !== null,
        20_000,
      )
      expect((lease as Lease | null)?.token).toBeGreaterThan(tokens[index] ?? 0n)
    }),
  )
  frozen.resume()
  await cluster.settled()
}, 60_000)
