import { expect, it } from 'vitest'
import { startMongoSet } from '../servers/mongo-set.ts'
import type { MongoServer } from '../servers/mongo.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  clientOn,
  COLLECTION,
  DATABASE,
  failureOf,
  locksOn,
  recordOf,
  storeOn,
  until,
} from '../support/mongo-stage.ts'
import { Told } from '../support/told.ts'

const HOUR_MS = 3_600_000
const parameters = { setParameter: { ttlMonitorSleepSecs: 1 }, clockAheadMs: 0 }
const set = await startMongoSet({ isolatable: true, nodes: [parameters, parameters, parameters] })
atLast(() => set.stop())

/** How people lock with a unique index: who inserts first has the key. */
async function insert(node: MongoServer, key: string): Promise<boolean> {
  const locks = clientOn(node.url).db(DATABASE).collection<{ _id: string }>('inserted')
  return locks.insertOne({ _id: key }, { writeConcern: { w: 1 } }).then(
    () => true,
    () => false,
  )
}

it('G1 G2 an isolated old primary: what is inserted with w: 1 is granted twice, what we grant is not', async () => {
  const old = await set.primary()
  // A process that sees the old primary only.
  const isolated = locksOn(storeOn(old.url))
  const lease = await isolated.acquire('held before', { lease: '2s' })
  const told = new Told(lease, 2000)
  await set.isolate(old)
  atEnd(() => set.heal())
  const next = await set.primary()

  expect([await insert(old, 'key'), await insert(next, 'key')]).toEqual([true, true])

  const others = locksOn(storeOn(set.url))
  const [refused, granted] = await Promise.all([
    failureOf(isolated.tryAcquire('key')),
    others.acquire('key', { wait: '10s' }),
  ])
  expect(refused).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(
      /too few nodes of the replica set confirmed|took too long and was ended|no answer within/,
    ),
  })
  expect(granted.held).toBe(true)

  const after = await others.acquire('held before', { wait: '20s' })
  expect(told.told).toBe(true)
  expect(after.token).toBeGreaterThan(lease.token)
  await set.heal()
  // What the old one noted alone is gone.
  await until('one history', async () => {
    // Meanwhile the old one may answer nobody.
    const ownerOn = async (node: MongoServer): Promise<unknown> => (await recordOf(node, 'key'))?.['owner']
    const owners = set.nodes.map((node) => ownerOn(node).catch(() => node))
    return new Set(await Promise.all(owners)).size === 1
  })
  expect(granted.held && after.held).toBe(true)
  expect(await granted.release()).toBe(true)
})

it('G3 a primary whose clock was ahead, followed by one whose is right: tokens rise, and the record stays', async () => {
  const store = storeOn(set.url, { keep: '1m', database: 'clocks' })
  await store.open()
  const early = [askFor('free'), askFor('held', { leaseMs: HOUR_MS })] as const
  const [ahead] = (await set.secondaries()) as [MongoServer]
  // Before it is the primary: one whose clock jumps may think that it has not heard of the others for an hour.
  await ahead.stepClock(HOUR_MS)
  await until('it as the primary', async () => {
    await ahead.command('admin', { replSetStepUp: 1 }).catch(() => undefined)
    return (await set.primary()) === ahead
  })
  const grants = [await grantOf(store, early[0]), await grantOf(store, early[1])]
  expect(Math.min(...grants) / 1000).toBeGreaterThan(Date.now() + HOUR_MS / 2)
  await store.release([early[0]])
  expect(await set.stepDown()).not.toBe(ahead)
  await ahead.stepClock(0)

  const ask = askFor('free')
  const grant = await grantOf(store, ask)
  expect(grant).toBe((grants[0] ?? 0) + 1)
  expect(await store.renew([early[1]])).toEqual([{ renewed: true, grant: grants[1] }])
  await store.release([ask])

  const records = clientOn(set.url).db('clocks').collection<{ _id: string; idleFrom: Date }>(COLLECTION)
  await records.insertOne({ _id: 'long idle', idleFrom: new Date(Date.now() - 120_000) })
  await until('a removal', async () => (await records.countDocuments({ _id: 'long idle' })) === 0)
  const idleFrom = (await records.findOne({ _id: 'free' }))?.idleFrom
  // Only then would the clock alone give a higher number.
  expect(idleFrom?.getTime()).toBeGreaterThanOrEqual(Math.floor(grant / 1000))
  expect(await grantOf(store, askFor('free'))).toBe(grant + 1)
})

it('G7 one node of three is down: all works, also to open a collection that has lost its index', async () => {
  const store = storeOn(set.url, { database: 'degraded' })
  await store.open()
  await grantOf(store, askFor('first'))
  const [secondary] = await set.secondaries()
  if (!secondary) throw new Error('no secondary')
  await secondary.kill()
  atEnd(async () => {
    await secondary.start()
    await set.settled()
  })
  const primary = await set.primary()
  await primary.command('degraded', { dropIndexes: COLLECTION, index: '*' })
  const later = locksOn(storeOn(set.url, { database: 'degraded' }))
  expect(await later.acquire('second', { wait: '20s' })).toBeDefined()
  const reply = await primary.command('degraded', { listIndexes: COLLECTION })
  expect(reply['cursor'].firstBatch.map(({ name }: { name: string }) => name)).toContain('holdfast_keep')
})
