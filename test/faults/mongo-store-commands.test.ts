import { type Document, MongoClient, type MongoClientOptions } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb-6'
import { describe, expect, it } from 'vitest'
import type { Ask, Store } from '../../src/store.ts'
import { type CommandFault, type FailCommand, failCommand } from '../servers/mongo-fail-command.ts'
import { startMongo } from '../servers/mongo.ts'
import { askFor } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  clientOn,
  COLLECTION,
  DATABASE,
  failureOf,
  failureWithin,
  locksOn,
  proxyTo,
  recordOf,
  storeOn,
} from '../support/mongo-stage.ts'

const server = await startMongo({ replicaSet: 'rs' })
atLast(() => server.stop())
const appName = 'under test'

const clients = [
  {
    name: 'driver 7 without retries',
    make: (): MongoClient => new MongoClient(server.url, { appName, retryWrites: false, retryReads: false }),
  },
  { name: 'driver 6 with retries', make: (): MongoClient6 => new MongoClient6(server.url, { appName }) },
]

/** One key is asked for by one command, many by two. */
const counts = [1, 5]
let keys = 0

function asksFor(count: number): Ask[] {
  return Array.from({ length: count }, () => askFor(`key ${(keys += 1)}`))
}

async function fail(fault: Omit<CommandFault, 'appName'>): Promise<FailCommand> {
  const point = await failCommand(server, { ...fault, appName })
  atEnd(() => point.off())
  return point
}

describe.each(clients)('$name:', ({ make }) => {
  async function open(): Promise<Store> {
    const client = make()
    atEnd(() => client.close())
    const store = storeOn(client)
    await store.open()
    return store
  }

  /** All steps, with something that goes wrong at each of them. */
  async function takeSteps(store: Store, count: number, wrong: () => Promise<unknown>): Promise<void> {
    const asks = asksFor(count)
    await wrong()
    const granted = await store.acquire(asks)
    expect(granted).toEqual(asks.map(() => expect.objectContaining({ granted: true })))
    const grants = granted.map((answer) => (answer as { grant: number }).grant)
    await wrong()
    expect(await store.renew(asks)).toEqual(grants.map((grant) => ({ renewed: true, grant })))
    const others = asks.map(({ key }) => askFor(key))
    await wrong()
    expect(await store.acquire(others)).toEqual(asks.map(() => expect.objectContaining({ granted: false })))
    await wrong()
    expect(await store.release(asks)).toEqual(asks.map(() => ({ released: true, wanted: true })))
    for (const [index, { key }] of asks.entries()) {
      expect(await recordOf(server, key)).toMatchObject({ owner: null, grant: grants[index] })
    }
  }

  it.each(counts)('G5 a primary that steps down between commands is waited for (%i keys)', async (count) => {
    const store = await open()
    const commands = ['findAndModify', 'update', 'find']
    await takeSteps(store, count, () => fail({ commands, mode: { times: 2 }, errorCode: 10_107 }))
  })

  it.each(counts)('G5 an upsert that came second is repeated (%i keys)', async (count) => {
    const store = await open()
    const asks = asksFor(count)
    const race = { errorCode: 11_000, errorExtraInfo: { keyPattern: { _id: 1 }, keyValue: { _id: 'key' } } }
    await fail({ commands: ['findAndModify', 'update'], mode: { times: 2 }, ...race })
    const answers = await store.acquire(asks)
    expect(answers).toEqual(asks.map(() => expect.objectContaining({ granted: true })))
  })

  it.each(counts)(
    'G5 a step that was done by a primary that then went down is repeated, and its answer is as if it were not (%i keys)',
    async (count) => {
      const store = await open()
      const commands = ['findAndModify', 'update']
      const writeConcernError = { code: 91, errmsg: 'going down' }
      await takeSteps(store, count, () => fail({ commands, mode: { times: 1 }, writeConcernError }))
    },
  )

  it.each(counts)(
    'G5 a write that too few nodes confirmed is a fault, and may be repeated (%i keys)',
    async (count) => {
      const store = await open()
      const asks = asksFor(count)
      const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' }
      const commands = ['findAndModify', 'update']
      const expected = { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/too few nodes/) }
      const point = await fail({ commands, writeConcernError })
      for (const step of ['acquire', 'renew', 'release'] as const) {
        expect(await failureOf(store[step](asks))).toMatchObject(expected)
      }
      await point.off()
      // It was released in the end.
      const again = asks.map(({ key }) => askFor(key))
      expect(await store.acquire(again)).toEqual(asks.map(() => expect.objectContaining({ granted: true })))
    },
  )

  it.each(['findAndModify', 'update', 'find'])(
    'G5 G7 a connection that is closed under %s fails that call only',
    async (command) => {
      const store = await open()
      const asks = asksFor(command === 'findAndModify' ? 1 : 5)
      await fail({ commands: [command], mode: { times: 1 }, closeConnection: true })
      expect(await failureOf(store.acquire(asks))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/connection was cut/),
        cause: expect.any(Error),
      })
      const answers = await store.acquire(asks)
      expect(answers).toEqual(asks.map(() => expect.objectContaining({ granted: true })))
    },
  )
})

it.each(counts)('G5 a reply that is lost: the same ask again has the same grant (%i keys)', async (count) => {
  const { proxy, url } = await proxyTo(server.url)
  const direct = url.replace(/replicaSet=\w+/, 'directConnection=true')
  const store = storeOn(direct)
  await store.open()
  const asks = asksFor(count)
  // So that it knows them: new keys are inserted first.
  for (let i = 0; i < 2; i += 1) {
    const before = asks.map(({ key }) => askFor(key))
    await store.acquire(before)
    await store.release(before)
  }
  proxy.dropReplies()
  expect(await failureWithin(3000, store.acquire(asks))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const [first] = asks as [Ask]
  const record = await recordOf(server, first.key)
  expect(record?.['owner']).toBe(first.owner)
  proxy.thaw()
  proxy.cut()
  const [answer] = await storeOn(server.url).acquire(asks)
  expect(answer).toMatchObject({ granted: true, grant: record?.['grant'] })
})

describe('what reaches the server does not go by the settings of the client:', () => {
  it.each<MongoClientOptions>([
    {},
    { writeConcern: { w: 0 } },
    { writeConcern: { w: 1, journal: false } },
    { readPreference: 'secondaryPreferred' },
    { readConcern: { level: 'local' } },
    {
      readConcern: { level: 'available' },
      writeConcern: { w: 0 },
      readPreference: 'nearest',
      retryWrites: false,
    },
    { promoteValues: false },
    { useBigInt64: true },
    { ignoreUndefined: true, serializeFunctions: true, raw: true },
  ])('%j', async (options) => {
    await server.command(DATABASE, { profile: 0 })
    await server.command(DATABASE, { drop: 'system.profile' }).catch(() => undefined)
    await server.command(DATABASE, { profile: 2 })
    const locks = locksOn(storeOn(clientOn(server.url, { appName, ...options })))
    const key = `settings ${JSON.stringify(options)}`
    await Promise.all(Array.from({ length: 5 }, (_, index) => locks.acquire(`${key} ${index}`)))
    const lease = await locks.acquire(key)
    await lease.extend()
    expect((await locks.list({ prefix: key })).locks).toHaveLength(6)
    expect(await lease.release()).toBe(true)
    await locks.forceRelease(`${key} 0`)
    await locks.close()
    await server.command(DATABASE, { profile: 0 })
    const reply = await server.command(DATABASE, {
      find: 'system.profile',
      filter: { ns: `${DATABASE}.${COLLECTION}`, appName },
      batchSize: 1000,
    })
    const seen = reply['cursor'].firstBatch.map(({ op, command }: Document) => ({ op, command }))
    const writes = seen.filter(({ op, command }: Document) => op === 'update' || command['findAndModify'])
    const finds = seen.filter(({ command }: Document) => command['find'])
    expect(finds.length).toBeGreaterThan(0)
    expect(writes.length).toBeGreaterThan(3)
    for (const { command } of finds) expect(command['readConcern']).toMatchObject({ level: 'majority' })
    const commands = writes.filter(({ command }: Document) => command['findAndModify'])
    expect(commands.length).toBeGreaterThan(0)
    for (const { command } of commands)
      expect(command['writeConcern']).toMatchObject({ w: 'majority', j: true })
  })
})
