import { type Document, MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { MongoDb } from '../../src/databases/mongo.ts'
import { mongoCommand } from '../servers/mongo-command.ts'
import { startAll } from '../servers/start-all.ts'
import { startMongo } from '../servers/mongo.ts'
import {
  atEnd,
  atLast,
  clientOn,
  COLLECTION,
  failureOf,
  failureWithin,
  holdAndWait,
  locksOn,
  proxyTo,
  storeOn,
} from '../support/mongo-stage.ts'

const [server, alone] = (await startAll([
  () => startMongo({ replicaSet: 'rs', login: { user: 'admin', password: 'correct horse' } }),
  () => startMongo(),
])) as [Awaited<ReturnType<typeof startMongo>>, Awaited<ReturnType<typeof startMongo>>]
atLast(() => Promise.all([server.stop(), alone.stop()]))

function as(user: string, password: string, authSource = 'users'): string {
  const url = new URL(server.url)
  Object.assign(url, { username: user, password })
  url.searchParams.set('authSource', authSource)
  return url.href
}

const roles = (...names: string[]): Document[] => names.map((role) => ({ role, db: 'app' }))
const asAdmin = async (database: string, command: Document): Promise<Document> =>
  mongoCommand(server.url, database, command)
for (const [createUser, ...granted] of [['nobody'], ['reader', 'read'], ['writer', 'readWrite']] as const)
  await asAdmin('users', { createUser, pwd: 'correct horse', roles: roles(...granted) })

/** What is wrong at the first call, in words; the store itself works once `mend` is done. */
async function expectRefusal(
  given: Parameters<typeof storeOn>[0],
  options: Parameters<typeof storeOn>[1],
  says: RegExp,
  mend?: () => unknown,
): Promise<void> {
  const locks = locksOn(storeOn(given, options))
  for (const call of [() => locks.tryAcquire('key'), () => locks.inspect('key')]) {
    const error = await failureWithin(4000, call())
    expect(error).toMatchObject({
      name: 'LockError',
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(says),
      cause: expect.any(Error),
    })
    expect(error.message).not.toContain('wrong horse')
  }
  if (mend) {
    await mend()
    expect(await (await locks.acquire('key', { wait: '10s' })).release()).toBe(true)
  }
}

describe('MongoDB refuses', () => {
  const url = (one: string): string => one
  const client = (one: string): MongoClient => clientOn(one)
  describe.each([
    ['url', url],
    ['client', client],
  ] as const)('%s', (_, open) => {
    const options = { database: 'app' }

    it('a user without any role, until it has one', async () => {
      await asAdmin('users', { updateUser: 'nobody', roles: [] })
      await expectRefusal(open(as('nobody', 'correct horse')), options, /lacks a right.*readWrite/, () =>
        asAdmin('users', { updateUser: 'nobody', roles: roles('readWrite') }),
      )
    })

    it('a user that may only read, until it may write', async () => {
      await asAdmin('app', { dropDatabase: 1 })
      await asAdmin('users', { updateUser: 'reader', roles: roles('read') })
      await expectRefusal(open(as('reader', 'correct horse')), options, /lacks a right.*readWrite/, () =>
        asAdmin('users', { updateUser: 'reader', roles: roles('readWrite') }),
      )
    })

    it('a wrong password, until it is the right one', async () => {
      await asAdmin('users', { updateUser: 'writer', pwd: 'correct horse' })
      const given = open(as('writer', 'wrong horse'))
      await expectRefusal(given, options, /check user, password and authSource/, () =>
        asAdmin('users', { updateUser: 'writer', pwd: 'wrong horse' }),
      )
      await asAdmin('users', { updateUser: 'writer', pwd: 'correct horse' })
    })

    it('a wrong authSource', async () => {
      const given = open(as('writer', 'correct horse', 'app'))
      await expectRefusal(given, options, /check user, password and authSource/)
    })

    it('a host that does not listen, until it does', async () => {
      const { proxy, url: through } = await proxyTo(alone.url)
      proxy.refuse()
      const says = /check hosts, ports and replicaSet/
      await expectRefusal(open(through), options, says, () => proxy.accept())
    })

    it('a host that is not known, and a set of another name', async () => {
      const says = /check hosts, ports and replicaSet/
      const other = `mongodb://127.0.0.1:${alone.port}/?replicaSet=other`
      const urls = ['mongodb://holdfast.invalid/', other]
      await Promise.all(urls.map((each) => expectRefusal(open(each), options, says)))
    })
  })

  it('a client that its owner has closed', async () => {
    const [used, unused] = [new MongoClient(alone.url), new MongoClient(alone.url)]
    await used.db('app').command({ ping: 1 })
    for (const one of [used, unused]) await one.close()
    await expectRefusal(used, {}, /was closed; give one that stays open/)
    const later = new MongoClient(alone.url)
    const locks = locksOn(storeOn(later))
    await locks.acquire('before')
    await later.close()
    expect(await failureOf(locks.tryAcquire('after'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/was closed; give one that stays open/),
    })
  })

  it('a client all of whose connections are in use, until one is free', async () => {
    const one = clientOn(alone.url, { maxPoolSize: 1 })
    await one.db('app').command({ ping: 1 })
    const busy = one.db('app').collection('things')
    await busy.insertOne({})
    const slow = busy.findOne({ $where: 'sleep(9500) || true' })
    await expectRefusal(one, {}, /no answer within 2500 ms/, () => slow)
  })
})

/** Told at the first call, without what waiting could mend; works once `mend` is done. */
async function expectUnusable(says: RegExp, mend?: Document): Promise<void> {
  const locks = locksOn(storeOn(alone.url, { database: 'odd' }))
  atEnd(() => alone.command('odd', { dropDatabase: 1 }))
  expect(await failureOf(locks.acquire('key', { wait: '10s' }))).toMatchObject({
    name: 'LockError',
    code: 'INVALID_OPTION',
    message: expect.stringMatching(says),
  })
  if (!mend) return
  await alone.command('odd', mend)
  expect(await locks.acquire('key')).toBeDefined()
}

describe('a collection that is not for locks is told of, with what to do:', () => {
  it.each<[string, Document, RegExp]>([
    ['a view', { viewOn: 'other', pipeline: [] }, /odd\.holdfast_locks.*it is a view.*name another/],
    ['a capped one', { capped: true, size: 4096 }, /it is a capped collection; name another/],
    ['a time series', { timeseries: { timeField: 't' } }, /it is a timeseries.*name another/],
    ['one with a collation', { collation: { locale: 'en', strength: 1 } }, /has a collation.*name another/],
  ])('%s', async (_, options, says) => {
    await alone.command('odd', { create: COLLECTION, ...options })
    await expectUnusable(says, { drop: COLLECTION })
  })

  const ours = { name: 'holdfast_keep', key: { idleFrom: 1 }, expireAfterSeconds: 3600 }
  it.each<[string, Document[], RegExp]>([
    [
      'records kept for another time',
      [{ ...ours, expireAfterSeconds: 60 }],
      /keeps records for 60 s.*collMod/,
    ],
    ['no removal', [{ name: 'mine', key: { idleFrom: 1 } }], /'mine' removes nothing.*dropIndex\('mine'\)/],
    ['removal of some', [{ ...ours, partialFilterExpression: { grant: 1 } }], /only a part.*dropIndex/],
    [
      "somebody else's removal",
      [{ name: 'theirs', key: { since: 1 }, expireAfterSeconds: 60 }],
      /'theirs' removes records.*dropIndex\('theirs'\)/,
    ],
    [
      "somebody else's removal beside ours",
      [ours, { name: 'theirs', key: { since: 1 }, expireAfterSeconds: 60 }],
      /'theirs' removes records.*dropIndex\('theirs'\)/,
    ],
    ['unique values', [{ name: 'theirs', key: { owner: 1 }, unique: true }], /'theirs' is unique.*dropIndex/],
  ])('an index for %s', async (_, indexes, says) => {
    await alone.command('odd', { createIndexes: COLLECTION, indexes })
    const { name } = indexes.at(-1) as { name: string }
    await expectUnusable(says, { dropIndexes: COLLECTION, index: name })
  })
})

it('a server that is too old is told of', async () => {
  const db = clientOn(alone.url).db('app')
  const old: MongoDb = {
    databaseName: 'app',
    client: db.client,
    command: async (command, options) => ({ ...(await db.command(command, options)), maxWireVersion: 8 }),
    collection: (name) => db.collection(name),
  }
  expect(await failureOf(locksOn(storeOn(old)).tryAcquire('key'))).toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(/too old; it must be MongoDB 4\.4 or later/),
  })
})

it('G8 a server without a replica set has no push, and those who wait are served by polls of the store', async () => {
  const [holders, waiters] = [alone.url, alone.url].map((url) =>
    locksOn(storeOn(url), { poll: { max: '30s' } }),
  )
  if (!holders || !waiters) throw new Error('no locks')
  const { free } = await holdAndWait(holders, waiters, 'polled')
  expect(await free()).toBeLessThan(1000)
})
