import { readFileSync } from 'node:fs'
import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { createLocks, type Locks } from '../../src/index.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { startMongo } from '../servers/mongo.ts'
import { atEnd, atLast, until } from '../support/stage.ts'

interface Privilege {
  readonly resource: { readonly db: string; readonly collection: string }
  readonly actions: readonly string[]
}

const server = await startMongo({ replicaSet: 'rs', login: { user: 'root', password: 'secret' } })
atLast(() => server.stop())
const admin = new MongoClient(server.url)
atLast(() => admin.close())

// The page shows what is tested.
const page = readFileSync(new URL('../../docs/stores/mongo.md', import.meta.url), 'utf8')
const [, text = ''] = /db\.createRole\((\{.*?\n\})\)/s.exec(page) ?? []
const { privileges } = JSON.parse(text) as { privileges: readonly Privilege[] }
const actions = privileges.flatMap((privilege) => privilege.actions)

/** The URL of a user with the role of the page, but for `without`, in a database of its own. */
async function least(name: string, without?: string): Promise<string> {
  const db = admin.db(name)
  const left = privileges.map(({ resource, actions: all }) => ({
    resource: { ...resource, db: name },
    actions: all.filter((action) => action !== without),
  }))
  // The server takes no privilege without an action.
  const some = left.filter((privilege) => privilege.actions.length > 0)
  await db.command({ createRole: 'locks', roles: [], privileges: some })
  await db.command({ createUser: 'locker', pwd: 'least', roles: ['locks'] })
  return server.url.replace('//root:secret@', '//locker:least@').replace('/?', `/${name}?`)
}

function locksAt(url: string): Locks {
  const locks = createLocks(mongoStore(url), { logger: null })
  atEnd(() => locks.close())
  return locks
}

describe('a user with the role of the documentation', () => {
  it('G8 can do it all, and is woken by push', async () => {
    const url = await least('app')
    const [locks, other] = [locksAt(url), locksAt(url)]
    const records = admin.db('app').collection<{ _id: string; waiters: string[] }>('holdfast_locks')
    const lease = await locks.acquire('key', { rotateToken: '500ms' })
    const turn = other.acquire('key', { wait: '30s' })
    await until(
      'it is on the list',
      async () => (await records.findOne({ _id: 'key' }))?.waiters.length === 1,
    )
    await until('renewals', () => locks.stats().renewals > 1)
    await lease.release()
    const next = await turn
    const many = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => locks.acquire(key)))
    await Promise.all(many.map((each) => each.extend()))
    expect((await locks.list()).locks).toHaveLength(6)
    await Promise.all(many.map((each) => each.release()))
    expect(await locks.forceRelease('key')).toMatchObject({ key: 'key' })
    expect(await next.release()).toBe(false)
    expect(locks.stats().storeFailures + other.stats().storeFailures).toBe(0)
  })

  it.each(actions.filter((action) => action !== 'changeStream'))('cannot do without %s', async (action) => {
    const locks = locksAt(await least(`without_${action}`, action))
    await expect(locks.tryAcquire('key')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('the user lacks a right'),
    })
  })

  it('G8 is served by polling without changeStream', async () => {
    const url = await least('without_changeStream', 'changeStream')
    const [locks, other] = [locksAt(url), locksAt(url)]
    const lease = await locks.acquire('key')
    const turn = other.acquire('key', { wait: '30s' })
    await until('it was told no', () => other.stats().waiting === 1)
    await lease.release()
    expect(await (await turn).release()).toBe(true)
  })

  it('does without createIndex where the index is there', async () => {
    const url = await least('made_by_hand', 'createIndex')
    const index = { name: 'holdfast_keep', expireAfterSeconds: 3600 }
    await admin.db('made_by_hand').collection('holdfast_locks').createIndex({ idleFrom: 1 }, index)
    const lease = await locksAt(url).acquire('key')
    expect(await lease.release()).toBe(true)
  })
})
