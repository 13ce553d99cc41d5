import { describe, expect, it } from 'vitest'
import { startMongo } from '../servers/mongo.ts'
import type { MongoStoreAddress } from '../support/mongo-client.ts'
import {
  atEnd,
  atLast,
  COLLECTION,
  DATABASE,
  locksOn,
  type MongoProcess,
  oneProcess,
  recordOf,
  startProcesses,
  storeOn,
  until,
} from '../support/mongo-stage.ts'

const COUNT = 20
const TIMES = 10

const server = await startMongo({ replicaSet: 'rs' })
atLast(() => server.stop())

// Starting them takes longer than all the tests.
const all = await startProcesses(COUNT)
atLast(() => Promise.all(all.map((one) => one.end())))

async function onAll<T>(work: (one: MongoProcess, index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(all.map(work))
}

const address = (driver: MongoStoreAddress['driver'], database = DATABASE): MongoStoreAddress => ({
  url: server.url,
  database,
  driver,
})

async function failures(): Promise<number> {
  const stats = await onAll((one) => one.call<{ storeFailures: number }>('stats'))
  return stats.reduce((sum, { storeFailures }) => sum + storeFailures, 0)
}

describe('20 processes', () => {
  it('G1 open an empty database at once, and each of many new keys is had by one of them', async () => {
    // Loads the driver: for 20 at once that may take longer than a call may.
    await onAll((one) => one.call('connect', server.url))
    await onAll((one, index) => one.call('start', address(([6, 7, 'url'] as const)[index % 3] ?? 7, 'fresh')))
    const reply = await server.command('fresh', { listIndexes: COLLECTION })
    expect(reply['cursor'].firstBatch).toEqual([
      expect.objectContaining({ name: '_id_' }),
      expect.objectContaining({ name: 'holdfast_keep', expireAfterSeconds: 3600 }),
    ])
    for (const count of [1, 3, 40]) {
      const keys = Array.from({ length: count }, (_, index) => `new ${count}, ${index}`)
      const got = (await onAll((one) => one.call<string[]>('tryEach', keys))).flat()
      expect(got.toSorted()).toEqual(keys.toSorted())
    }
    expect(await failures()).toBe(0)
    await onAll((one) => one.call('close'))
  })

  it(`G1 G3 add one to a number ${COUNT * TIMES} times, in two commands each, and none is lost`, async () => {
    for (const one of all) await one.call('start', address('url'))
    const work = onAll((one) => one.call<string[]>('increment', server.url, DATABASE, 'counter', TIMES))
    const tokens = (await work).flat()
    const reply = await server.command(DATABASE, { find: 'counters' })
    expect(reply['cursor'].firstBatch).toEqual([{ _id: 'counter', value: COUNT * TIMES }])
    expect(new Set(tokens).size).toBe(COUNT * TIMES)
    expect(await failures()).toBe(0)
    await onAll((one) => one.call('close'))
    expect((await recordOf(server, 'counter'))?.['owner']).toBeNull()
  })
})

describe('a holder', () => {
  it('G3 that is killed: the next gets in within the lease and a second, with a higher token', async () => {
    const leaseMs = 1500
    const doomed = await oneProcess()
    await doomed.call('start', address(7), { service: 'doomed' })
    const token = await doomed.call<string>('acquire', 'killed', { lease: leaseMs })
    const locks = locksOn(storeOn(server.url))
    const turn = locks.acquire('killed', { wait: '30s' })
    await until('the waiter', async () => (await recordOf(server, 'killed'))?.['wanted'])
    await doomed.end()
    const start = performance.now()
    const lease = await turn
    expect(performance.now() - start).toBeLessThan(leaseMs + 1000)
    expect(lease.token).toBeGreaterThan(BigInt(token))
  })

  it('G1 G2 that is paused and comes back late learns that it lost, and does its successor no harm', async () => {
    const late = await oneProcess()
    await late.call('start', address(7))
    const token = await late.call<string>('acquire', 'paused', { lease: 800 })
    late.signal('SIGSTOP')
    const locks = locksOn(storeOn(server.url))
    const next = await locks.acquire('paused', { wait: '20s' })
    expect(next.token).toBeGreaterThan(BigInt(token))
    late.signal('SIGCONT')
    await until('the news', async () => !(await late.call('isHeld', 'paused')))
    expect(await late.call('release', 'paused')).toBe(false)
    await next.extend()
    expect(next.held).toBe(true)
  })
})

describe('a process that made a store by URL ends by itself', () => {
  it.each([
    ['after it used nothing', false, false],
    ['after it held and waited', true, false],
    ['also if the server stands still', true, true],
  ])('%s', async (_, used, still) => {
    const one = await oneProcess()
    await one.call('start', address('url'), { lease: '20s' })
    if (used) {
      await one.call('acquire', `own ${still}`)
      const holder = locksOn(storeOn(server.url))
      await holder.acquire(`other ${still}`)
      void one.call('acquire', `other ${still}`, { wait: '30s' }).catch(() => {})
      await until(
        'the waiter',
        async () => (await recordOf(server, `other ${still}`))?.['waiters'].length === 1,
      )
    }
    if (still) {
      await server.pause()
      atEnd(() => server.resume())
    }
    await one.call('leave')
    const start = performance.now()
    await one.call('close')
    // Three things that core waits for, each 3 s at most: to leave the list, to release, to close.
    expect(performance.now() - start).toBeLessThan(still ? 9000 : 1500)
    const closed = performance.now()
    expect(await one.ended).toBe(0)
    // A command that is under way keeps its timer until its limit.
    expect(performance.now() - closed).toBeLessThan(still ? 3000 : 1500)
    expect(await one.complaints).toBe('')
  })
})
