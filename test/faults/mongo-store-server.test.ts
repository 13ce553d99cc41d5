import { describe, expect, it } from 'vitest'
import type { Ask, Store } from '../../src/store.ts'
import { startMongo } from '../servers/mongo.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  clientOn,
  COLLECTION,
  DATABASE,
  failureWithin,
  locksOn,
  locksWithoutPoll,
  recordOf,
  storeOn,
  until,
} from '../support/mongo-stage.ts'
import { Told } from '../support/told.ts'

const server = await startMongo({ replicaSet: 'rs', setParameter: { ttlMonitorSleepSecs: 1 } })
atLast(() => server.stop())

const everyClient = [
  { name: 'client', open: (): Store => storeOn(clientOn(server.url)) },
  { name: 'url', open: (): Store => storeOn(server.url) },
]

/** Two more looks of the server at what is to be removed. */
async function ttlPasses(): Promise<void> {
  const passes = async (): Promise<number> =>
    Number((await server.command('admin', { serverStatus: 1 }))['metrics'].ttl.passes)
  const before = await passes()
  await until('two passes', async () => (await passes()) >= before + 2)
}

async function indexes(): Promise<string[]> {
  const reply = await server.command(DATABASE, { listIndexes: COLLECTION })
  return reply['cursor'].firstBatch.map(({ name }: { name: string }) => name)
}

describe.each(everyClient)('$name: a server', ({ name, open }) => {
  it('G2 G7 that stands still: the signal comes before the lease ends, calls fail in time, and work after it', async () => {
    const locks = locksOn(open(), { lease: '4s' })
    const key = `still for ${name}`
    const lease = await locks.acquire(key)
    const told = new Told(lease, 4000)
    // The clock of the server is that of this machine.
    told.cutOff(Number((await recordOf(server, key))?.['expiresAt']) - Date.now())
    await server.pause()
    atEnd(() => server.resume())
    expect(locks.stats().renewals).toBe(0)

    const calls = [
      locks.acquire('other', { wait: '1s' }),
      locks.tryAcquire('another'),
      locks.inspect(key),
      Promise.all(Array.from({ length: 10 }, (_, index) => locks.tryAcquire(`many ${index}`))),
    ].map((call) => failureWithin(3500, call as Promise<unknown>))
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ name: 'LockError', code: 'STORE_UNAVAILABLE' })
    }
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' })

    server.resume()
    const next = await locks.acquire(key, { wait: '20s' })
    expect(next.token).toBeGreaterThan(lease.token)
    // What arrived all the same is taken back.
    expect(await locks.acquire('other', { wait: '10s' })).toBeDefined()
    await until('a free key', async () => (await locks.inspect('another')) === null)
  })

  it('G2 G3 whose collection is dropped: the holder learns at its next renewal, tokens rise, waiters go on', async () => {
    const [locks, others] = [locksOn(open(), { lease: '9s' }), locksWithoutPoll(open())]
    const key = `dropped under ${name}`
    const lease = await locks.acquire(key)
    const turn = others.acquire(key, { wait: '30s' })
    await until('its name on the list', async () => (await recordOf(server, key))?.['waiters'].length === 1)
    const start = performance.now()
    await server.command(DATABASE, { drop: COLLECTION })
    const { renewals } = locks.stats()
    const next = await turn
    expect(performance.now() - start).toBeLessThan(3000)
    expect(next.token).toBeGreaterThan(lease.token)
    await until('the news', () => lease.signal.aborted)
    expect((lease.signal.reason as Error).message).toMatch(/the store no longer has/)
    expect(locks.stats().renewals).toBe(renewals)
    expect(await lease.release()).toBe(false)
    expect(next.held).toBe(true)
    await until('the index', async () => (await indexes()).includes('holdfast_keep'))
    await next.release()
    expect((await locks.acquire(key)).token).toBeGreaterThan(next.token)
  })

  it('G2 G3 whose records are removed by hand: their holders are told, others go on, and tokens rise', async () => {
    const [locks, others] = [locksOn(open(), { lease: '6s' }), locksOn(open())]
    const keys = Array.from({ length: 6 }, (_, index) => `removed ${index} under ${name}`)
    const leases = await Promise.all([...keys, `kept under ${name}`].map((key) => locks.acquire(key)))
    const kept = leases.at(-1)
    await server.command(DATABASE, { delete: COLLECTION, deletes: [{ q: { _id: { $in: keys } }, limit: 0 }] })
    const next = await Promise.all(keys.map((key) => others.acquire(key)))
    await until('the news', () => leases.slice(0, -1).every(({ signal }) => signal.aborted))
    for (const [index, { token }] of next.entries()) expect(token).toBeGreaterThan(leases[index]?.token ?? 0n)
    const { renewals } = locks.stats()
    await until('a renewal', () => locks.stats().renewals > renewals)
    expect(kept?.held).toBe(true)
  })

  it('G3 that is killed and comes back has forgotten nothing', async () => {
    const locks = locksOn(open(), { lease: '20s' })
    const lease = await locks.acquire(`outlives the server of ${name}`)
    const before = await recordOf(server, lease.key)
    await server.kill()
    await server.start()
    expect((await recordOf(server, lease.key))?.['grant']).toEqual(before?.['grant'])
    await lease.extend()
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe(true)
  })
})

describe('the TTL index', () => {
  it('G3 removes a record that has long been free, and never one that is held or ahead of the clock', async () => {
    const store = storeOn(server.url, { keep: '1m', collection: COLLECTION, database: 'ttl' })
    await store.open()
    const records = clientOn(server.url)
      .db('ttl')
      .collection<{ _id: string; idleFrom: Date; grant: number }>(COLLECTION)
    const ask = (key: string): Ask => askFor(key, { leaseMs: 600_000 })
    const [longFree, justFree, held, ahead] = [ask('long free'), ask('just free'), ask('held'), ask('ahead')]
    const first = await grantOf(store, longFree)
    for (const each of [justFree, held, ahead]) await grantOf(store, each)
    const raiseTo = (Date.now() + 3_600_000) * 1000
    expect(await store.renew([{ ...ahead, leaseMs: 1000, raiseTo }])).toEqual([
      { renewed: true, grant: raiseTo },
    ])
    await store.release([longFree, justFree, ahead])
    const idleFrom = new Date(Date.now() - 120_000)
    await records.insertOne({ _id: 'lately free', idleFrom: new Date(Date.now() - 1000), grant: 1 })
    await records.updateOne({ _id: longFree.key }, { $set: { idleFrom } })
    await until('its removal', async () => (await records.countDocuments({ _id: longFree.key })) === 0)
    await ttlPasses()
    const left = await records.find().sort({ _id: 1 }).toArray()
    expect(left.map(({ _id }) => _id)).toEqual(['ahead', 'held', 'just free', 'lately free'])
    expect(left[0]?.idleFrom.getTime()).toBeGreaterThanOrEqual(Math.floor(raiseTo / 1000))
    expect(left[1]?.idleFrom.getTime()).toBeGreaterThan(Date.now() + 500_000)
    expect(await grantOf(store, askFor(longFree.key))).toBeGreaterThan(first)
    expect(await grantOf(store, askFor(ahead.key))).toBe(raiseTo + 1)
    // Also with a new lease: the number is still ahead.
    expect((await records.findOne({ _id: ahead.key }))?.idleFrom.getTime()).toBeGreaterThan(
      Date.now() + 3_500_000,
    )
  })
})
