import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Collection, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { mongoCommand } from '../servers/mongo-command.ts'
import { failCommand } from '../servers/mongo-fail-command.ts'
import { type MongoServer, startMongo } from '../servers/mongo.ts'
import { survivors } from '../servers/process-tree.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'

const NOT_PRIMARY = 10_107
const NO_RIGHTS = 13
const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

function connect(url: string): MongoClient {
  const client = new MongoClient(url, {
    serverSelectionTimeoutMS: 5_000,
    retryReads: false,
    retryWrites: false,
  })
  endings.push(() => client.close())
  return client
}

async function folderOf(server: MongoServer): Promise<string> {
  const { parsed } = await server.command('admin', { getCmdLineOpts: 1 })
  return parsed.storage.dbPath
}

describe.each([
  ['mongo', 1],
  ['mongo-standalone', undefined],
  ['mongo-set', 3],
] as const)('the shared server of the kind %s', (kind, nodes) => {
  it('gives each caller a database of its own', async () => {
    const [one, other] = [await freshMongoDatabase(kind), await freshMongoDatabase(kind)]
    expect(one.url).toBe(other.url)
    const client = connect(one.url)
    await client.db(one.database).collection('things').insertOne({ mine: true })
    expect(await client.db(other.database).collection('things').findOne()).toBeNull()
  })

  it(`has ${nodes ?? 'no'} nodes of a set`, async () => {
    const { url } = await freshMongoDatabase(kind)
    expect((await mongoCommand(url, 'admin', { hello: 1 }))['hosts']?.length).toBe(nodes)
  })
})

describe('a MongoDB of one test', () => {
  let server: MongoServer
  beforeAll(async () => {
    server = await startMongo({ replicaSet: 'rs', setParameter: { ttlMonitorSleepSecs: 7 } })
  })
  afterAll(() => server.stop())

  it('listens on this machine only and takes parameters', async () => {
    const { parsed } = await server.command('admin', { getCmdLineOpts: 1 })
    expect(parsed.net.bindIp).toBe('127.0.0.1')
    expect(parsed.replication?.replSet).toBe('rs')
    const { ttlMonitorSleepSecs } = await server.command('admin', { getParameter: 1, ttlMonitorSleepSecs: 1 })
    expect(ttlMonitorSleepSecs).toBe(7)
  })

  it.each(['restarted', 'killed'])('keeps its port and its data when it is %s', async (how) => {
    const { pid } = server
    const things = (): Collection<{ _id: string }> => connect(server.url).db('kept').collection('things')
    await things().insertOne({ _id: how }, { writeConcern: { w: 'majority', j: true } })
    if (how === 'restarted') await server.restart()
    else await server.kill().then(() => server.start())
    expect(server.pid).not.toBe(pid)
    expect(await things().findOne({ _id: how })).not.toBeNull()
  })

  it('stands still while it is paused, and then goes on as if nothing had been', async () => {
    const client = connect(server.url)
    await client.db('admin').command({ ping: 1 })
    await server.pause()
    expect(server.running).toBe(false)
    let answered = false
    const answer = client
      .db('admin')
      .command({ ping: 1 })
      .finally(() => (answered = true))
    await expect(server.command('admin', { ping: 1 })).rejects.toThrow('timed out')
    expect(answered).toBe(false)
    server.resume()
    expect(await answer).toMatchObject({ ok: 1 })
    expect(server.running).toBe(true)
  })

  it('is killed at once, and says so', async () => {
    const { pid } = server
    await server.kill()
    expect(survivors([pid])).toEqual([])
    expect(server.running).toBe(false)
    await expect(server.command('admin', { ping: 1 })).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(await server.command('admin', { ping: 1 })).toMatchObject({ ok: 1 })
  })
})

describe('a MongoDB with commands that fail', () => {
  let server: MongoServer
  beforeAll(async () => {
    server = await startMongo({ replicaSet: 'rs' })
  })
  afterAll(() => server.stop())

  const insert = { insert: 'things', documents: [{}] }

  it('fails those it is told to, as often as it is told to', async () => {
    const db = connect(server.url).db('failing')
    const fail = await failCommand(server, {
      commands: ['insert'],
      mode: { times: 2 },
      errorCode: NOT_PRIMARY,
    })
    for (let time = 1; time <= 2; time += 1) {
      await expect(db.command(insert)).rejects.toMatchObject({ code: NOT_PRIMARY })
    }
    expect(await db.command({ ping: 1 })).toMatchObject({ ok: 1 })
    expect(await db.command(insert)).toMatchObject({ n: 1 })
    expect(await fail.off()).toBe(2)
  })

  it('closes connections until that is off', async () => {
    const db = connect(server.url).db('failing')
    const fail = await failCommand(server, { commands: ['insert'], closeConnection: true })
    for (let time = 1; time <= 3; time += 1) await expect(db.command(insert)).rejects.toThrow('closed')
    expect(await fail.off()).toBe(3)
    expect(await db.command(insert)).toMatchObject({ n: 1 })
  })

  it('carries out a command whose write concern fails', async () => {
    const db = connect(server.url).db('failing')
    const writeConcernError = { code: 91, errmsg: 'going down' }
    const fail = await failCommand(server, { commands: ['insert'], mode: { times: 1 }, writeConcernError })
    await expect(db.command({ insert: 'done', documents: [{}] })).rejects.toThrow('going down')
    expect(await db.collection('done').countDocuments()).toBe(1)
    expect(await fail.off()).toBe(1)
  })

  it('is late with the commands of one client only', async () => {
    const blockTimeMS = 2_000
    const fail = await failCommand(server, { commands: ['insert'], blockTimeMS, appName: 'slow' })
    const slow = connect(`${server.url}&appName=slow&socketTimeoutMS=300`)
    await expect(slow.db('failing').command(insert)).rejects.toThrow('timed out')
    expect(await connect(server.url).db('failing').command(insert)).toMatchObject({ n: 1 })
    expect(await fail.off()).toBe(1)
  })
})

describe('several MongoDBs', () => {
  it.each([false, 'rs'] as const)('let no one in without a login (replica set: %s)', async (replicaSet) => {
    const login = { user: 'us:er', password: 'p@ss/w:rd' }
    const server = await startMongo({ replicaSet, login })
    endings.push(() => server.stop())
    const client = connect(server.url)
    await client.db('x').collection('things').insertOne({})
    const stranger = connect(`mongodb://${server.host}:${server.port}/?directConnection=true`)
    await expect(stranger.db('x').collection('things').insertOne({})).rejects.toMatchObject({
      code: NO_RIGHTS,
    })
    await server.restart()
    const fail = await failCommand(server, { commands: ['insert'], errorCode: NOT_PRIMARY })
    expect(await fail.off()).toBe(0)
  })

  it('have a clock of their own, which can be stepped while they run', async () => {
    const server = await startMongo({ clockAheadMs: 60_000 })
    endings.push(() => server.stop())
    const aheadMs = async (): Promise<number> => {
      const [row] = await connect(server.url)
        .db('admin')
        .aggregate([{ $documents: [{}] }, { $set: { now: '$$NOW' } }])
        .toArray()
      return Number(row?.['now']) - Date.now()
    }
    expect(Math.abs((await aheadMs()) - 60_000)).toBeLessThan(1_000)
    await server.stepClock(3_600_000)
    expect(Math.abs((await aheadMs()) - 3_600_000)).toBeLessThan(1_000)
    await server.stepClock(-60_000)
    expect(Math.abs((await aheadMs()) + 60_000)).toBeLessThan(1_000)
  })

  it.each(['running', 'paused', 'killed'])('leave nothing behind when stopped while %s', async (state) => {
    const server = await startMongo()
    const [{ pid }, folder] = [server, await folderOf(server)]
    if (state === 'paused') await server.pause()
    if (state === 'killed') await server.kill()
    await server.stop()
    expect(survivors([pid])).toEqual([])
    expect(existsSync(folder)).toBe(false)
  })

  it.each(['running', 'paused'])(
    'do not outlive a process that is killed while they are %s',
    async (state) => {
      const owner = fileURLToPath(new URL('../servers/fixtures/mongo-owner.ts', import.meta.url))
      const child = fork(owner, [state], { execArgv: ['--import', 'tsx', '--no-warnings'] })
      const [{ pid, folder }] = (await once(child, 'message')) as [{ pid: number; folder: string }]
      expect(survivors([pid])).toHaveLength(1)
      child.kill('SIGKILL')
      await expect.poll(() => survivors([pid]), { timeout: 20_000 }).toEqual([])
      await expect.poll(() => existsSync(folder), { timeout: 20_000 }).toBe(false)
    },
  )

  it('show the log of one that does not start', async () => {
    await expect(startMongo({ setParameter: { nonsense: 1 } })).rejects.toThrow(
      /ended instead of starting[^]*nonsense/,
    )
  })
})
