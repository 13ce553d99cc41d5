import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { startMongo } from '../servers/mongo.ts'
import { failing, memoryLocks, warm } from '../support/mongo-transaction-stage.ts'
import { atEnd, atLast, failureOf } from '../support/stage.ts'

const server = await startMongo({ replicaSet: 'rs', login: { user: 'root', password: 'secret' } })
atLast(() => server.stop())
const admin = new MongoClient(server.url)
atLast(() => admin.close())

/** A client of a user who has this role in the database `shop`, which is also where the user is known. */
async function clientWith(role: string): Promise<MongoClient> {
  await admin.db('shop').command({ createUser: role, pwd: 'least', roles: [role] })
  const client = new MongoClient(
    server.url.replace('//root:secret@', `//${role}:least@`).replace('/?', '/shop?'),
  )
  atEnd(() => client.close())
  return client
}

it('readWrite is enough for a guard and a transaction, also to roll back after a COMMIT that did not arrive', async () => {
  const client = await clientWith('readWrite')
  await warm(client)
  const cut = memoryLocks().transaction(
    'key',
    client,
    () => failing(server, { failCommands: ['commitTransaction'], errorCode: 10107 }),
    { lease: '3s' },
  )
  expect(await failureOf(cut)).toMatchObject({ outcomeUnknown: true })
  await (await failing(server, { failCommands: [] })).end()
  const start = performance.now()
  const other = new MongoClient(server.url)
  atEnd(() => other.close())
  await memoryLocks().transaction('key', other.db('shop'), () => undefined)
  expect(performance.now() - start).toBeLessThan(5000)
  const guard = fence(client)
  expect(await guard.highest('key')).not.toBeNull()
  expect(await guard.forget('key')).toBe(true)
})

it('a user who may not write gets to know what is missing', async () => {
  const client = await clientWith('read')
  const missing = {
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/may not use the collection shop\..*readWrite/),
  }
  expect(await failureOf(fence(client, { collection: 'new' }).open())).toMatchObject(missing)
  expect(await failureOf(memoryLocks().transaction('key', client, () => undefined))).toMatchObject(missing)
})
