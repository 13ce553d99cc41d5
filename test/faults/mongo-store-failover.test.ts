import { MongoClient as MongoClient6 } from 'mongodb-6'
import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { startMongoSet } from '../servers/mongo-set.ts'
import { Load } from '../support/mongo-load.ts'
import {
  atEnd,
  atLast,
  clientOn,
  failureWithin,
  locksOn,
  recordOf,
  storeOn,
  until,
} from '../support/mongo-stage.ts'
import { Told } from '../support/told.ts'

const set = await startMongoSet()
atLast(() => set.stop())

function processes(): Locks[] {
  const client6 = new MongoClient6(set.url)
  atEnd(() => client6.close())
  // Whatever these are set to is of no matter.
  const client = clientOn(set.url, {
    retryWrites: false,
    readPreference: 'secondary',
    writeConcern: { w: 1 },
  })
  return [client, client6, set.url].map((each) => locksOn(storeOn(each)))
}

describe('under load, a primary', () => {
  it('G1 G2 G3 G7 that is killed: what it had granted is still held, tokens rise, and work goes on', async () => {
    const all = processes()
    const load = new Load(all, ['a', 'b', 'c'])
    await load.goesOn()
    const kept = await Promise.all(
      all.map((locks, index) => locks.acquire(`kept ${index}`, { lease: '20s' })),
    )
    const short = await Promise.all(
      all.map(async (locks, index) => new Told(await locks.acquire(`short ${index}`, { lease: 700 }), 700)),
    )
    const old = await set.primary()
    atEnd(async () => {
      await old.start()
      await set.settled()
    })
    await old.kill()
    for (const one of short) one.cutOff()
    await set.settled()
    await load.goesOn()
    expect(await load.end()).toEqual([])
    for (const lease of kept) {
      expect(lease.held).toBe(true)
      const record = await recordOf(await set.primary(), lease.key)
      expect(BigInt(record?.['grant']) << 10n).toBe(lease.token)
      expect(await lease.release()).toBe(true)
    }
    for (const one of short) expect(one.told && one.inTime).toBe(true)
  })

  it('G1 G3 G7 that steps down: nothing is lost, and no call of a user fails', async () => {
    const all = processes()
    const load = new Load(all, ['d', 'e', 'f'])
    await load.goesOn()
    const kept = await Promise.all(
      all.map((locks, index) => locks.acquire(`still ${index}`, { lease: '20s' })),
    )
    await set.stepDown()
    await load.goesOn()
    expect(await load.end()).toEqual([])
    for (const lease of kept) expect(await lease.release()).toBe(true)
  })
})

it('G2 G7 a primary that stands still: the signal comes in time, and calls go to the next', async () => {
  const all = processes()
  const leases = await Promise.all(
    all.map((locks, index) => locks.acquire(`frozen ${index}`, { lease: 1500 })),
  )
  const told = leases.map((lease) => new Told(lease, 1500))
  const old = await set.primary()
  atEnd(async () => {
    old.resume()
    await set.settled()
  })
  await old.pause()
  for (const one of told) one.cutOff()
  const calls = await Promise.all(all.map((locks) => failureWithin(3500, locks.tryAcquire('any'))))
  for (const error of calls) expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await until('the signals', () => told.every((one) => one.told))
  expect(told.every((one) => one.inTime)).toBe(true)
  // It still stands still. Two of three confirm a write only when the secondary reads from the new primary: one that read
  // from the old one gives up on it after 5 s and another 10 for the network.
  for (const [index, locks] of all.entries()) {
    const next = await locks.acquire(`frozen ${index}`, { wait: '30s' })
    expect(next.token).toBeGreaterThan(leases[index]?.token ?? 0n)
  }
})
