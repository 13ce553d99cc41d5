import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type MongoSet, startMongoSet } from '../servers/mongo-set.ts'
import type { MongoServer } from '../servers/mongo.ts'
import { survivors } from '../servers/process-tree.ts'

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

function connect(url: string): MongoClient {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 20_000 })
  endings.push(() => client.close())
  return client
}

async function isPrimary(node: MongoServer): Promise<boolean> {
  return (await node.command('admin', { hello: 1 }))['isWritablePrimary'] === true
}

/** Rejects if the node is not a primary, or if the others do not have it in time. */
async function insert(
  node: MongoServer,
  _id: string,
  w: 1 | 3 | 'majority',
  wtimeoutMS = 20_000,
): Promise<void> {
  const things = connect(node.url).db('set').collection<{ _id: string }>('things')
  await things.insertOne({ _id }, { writeConcern: { w, wtimeoutMS } })
}

async function has(node: MongoServer, _id: string): Promise<boolean> {
  return (await node.command('set', { find: 'things', filter: { _id } }))['cursor'].firstBatch.length === 1
}

/** Whether it has heard from all others since then, by its own clock. */
async function heardSince(node: MongoServer, since: number): Promise<boolean> {
  const { members } = await node.command('admin', { replSetGetStatus: 1 })
  return (members as { self?: boolean; lastHeartbeat?: Date }[]).every(
    ({ self, lastHeartbeat }) => self === true || Number(lastHeartbeat) > since,
  )
}

describe('a MongoDB replica set of one test', () => {
  let set: MongoSet
  beforeAll(async () => {
    set = await startMongoSet()
  })
  afterAll(() => set.stop())

  it('has a primary and two secondaries that follow it', async () => {
    expect(set.nodes).toHaveLength(3)
    const primary = await set.primary()
    expect(await set.secondaries()).toEqual(set.nodes.filter((node) => node !== primary))
    const things = connect(set.url).db('set').collection<{ _id: string }>('things')
    await things.insertOne({ _id: 'first' }, { writeConcern: { w: 3 } })
    for (const node of set.nodes) expect(await has(node, 'first')).toBe(true)
  })

  it.each(['killed', 'paused'])('has another primary when that is %s', async (how) => {
    const old = await set.primary()
    await insert(old, how, 'majority')
    if (how === 'killed') await old.kill()
    else await old.pause()
    const next = await set.primary()
    expect(next).not.toBe(old)
    expect(await has(next, how)).toBe(true)
    if (how === 'killed') await old.start()
    else old.resume()
    await set.settled()
    expect(await set.secondaries()).toContain(old)
  })

  it('has another primary after each step down', async () => {
    for (let time = 1; time <= 4; time += 1) {
      const old = await set.primary()
      const next = await set.stepDown()
      expect(next).not.toBe(old)
      expect(await isPrimary(old)).toBe(false)
    }
  })

  it('refuses to isolate a node, as it was not started for that', async () => {
    await expect(set.isolate(await set.primary())).rejects.toThrow('isolatable')
  })
})

describe('a MongoDB replica set whose nodes can be isolated', () => {
  let set: MongoSet
  beforeAll(async () => {
    set = await startMongoSet({ isolatable: true })
  })
  afterAll(() => set.stop())

  it('has two primaries then: the old one takes what the majority will never have', async () => {
    const old = await set.primary()
    await insert(old, 'before', 'majority')
    await set.isolate(old)
    const next = await set.primary()
    expect(next).not.toBe(old)
    expect(await isPrimary(old)).toBe(true)
    await insert(old, 'lost', 1)
    await expect(insert(old, 'lost, too', 'majority', 1_000)).rejects.toThrow('replication timed out')
    await insert(next, 'kept', 'majority')
    expect(await isPrimary(old)).toBe(true)
    await set.heal()
    expect(await set.primary()).toBe(next)
    for (const [_id, there] of [
      ['before', true],
      ['lost', false],
      ['lost, too', false],
      ['kept', true],
    ] as const) {
      await expect.poll(() => has(old, _id)).toBe(there)
    }
  })

  it('keeps an isolated secondary from the others, and elects in time again once that is over', async () => {
    const secondary = (await set.secondaries())[0] as MongoServer
    await set.isolate(secondary)
    await insert(await set.primary(), 'seen', 'majority')
    await expect(insert(await set.primary(), 'unseen', 3, 1_000)).rejects.toThrow('replication timed out')
    expect(await has(secondary, 'seen')).toBe(false)
    await set.heal()
    await expect.poll(() => has(secondary, 'unseen')).toBe(true)
    const old = await set.primary()
    await old.kill()
    expect(await set.primary()).not.toBe(old)
    await old.start()
    await set.settled()
  })

  it('lets clients of the set through, which find the new primary', async () => {
    const things = connect(set.url).db('set').collection<{ _id: string; found: boolean }>('things')
    await set.isolate(await set.primary())
    // Until it has found that one, it may ask the old one, which cannot have a majority.
    const writeConcern = { w: 'majority', wtimeoutMS: 500 } as const
    const write = async (): Promise<unknown> =>
      things.updateOne({ _id: 'found' }, { $set: { found: true } }, { upsert: true, writeConcern })
    await expect.poll(() => write().catch(String), { timeout: 20_000 }).toMatchObject({ acknowledged: true })
    expect(await has(await set.primary(), 'found')).toBe(true)
    await set.heal()
  })
})

describe('MongoDB replica sets', () => {
  it('have a clock for each node, and go on when that of the primary is stepped', async () => {
    const set = await startMongoSet({ nodes: [0, 0, 0].map((clockAheadMs) => ({ clockAheadMs })) })
    endings.push(() => set.stop())
    const things = connect(set.url).db('set').collection<{ _id: string }>('things')
    const first = await set.primary()
    await first.stepClock(3_600_000)
    // By the time of day it has heard nothing of the others for an hour. If it looks before it hears of them again, it
    // steps down; and until there is another one, a write may fail, though the driver tries it twice.
    const since = Date.now() + 3_600_000 - 100
    await expect.poll(() => heardSince(first, since), { timeout: 20_000 }).toBe(true)
    await set.settled()
    await things.insertOne({ _id: 'ahead' }, { writeConcern: { w: 'majority' } })
    await set.stepDown()
    await things.insertOne({ _id: 'in time' }, { writeConcern: { w: 'majority' } })
    for (const node of set.nodes) {
      const { localTime } = await node.command('admin', { hello: 1 })
      const aheadMs = Number(localTime) - Date.now()
      expect(Math.abs(aheadMs - (node === first ? 3_600_000 : 0))).toBeLessThan(1_000)
    }
  })

  it('leave nothing behind when stopped, whatever the state of their nodes', async () => {
    const set = await startMongoSet({ isolatable: true })
    const pids = set.nodes.map(({ pid }) => pid)
    const [primary, secondary] = [await set.primary(), (await set.secondaries())[0] as MongoServer]
    await set.isolate(primary)
    await secondary.pause()
    await set.stop()
    expect(survivors(pids)).toEqual([])
  })
})
