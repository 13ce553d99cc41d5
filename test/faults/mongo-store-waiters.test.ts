import type { Document, MongoClientOptions } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { failCommand } from '../servers/mongo-fail-command.ts'
import { startMongo } from '../servers/mongo.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atLast,
  clientOn,
  COLLECTION,
  DATABASE,
  failureOf,
  holdAndWait,
  locksOn,
  locksWithoutPoll,
  oneProcess,
  recordOf,
  storeOn,
  until,
} from '../support/mongo-stage.ts'

const server = await startMongo({ replicaSet: 'rs' })
atLast(() => server.stop())

/** No poll of core is as fast in these tests; and those on the list are not polled for by the store. */
const PUSHED_MS = 400

/** The change streams of one client, each as the operation that waits for the next change. */
async function streams(appName: string): Promise<{ opid: number; cursor: unknown }[]> {
  const { inprog } = await server.command('admin', { currentOp: 1, appName, op: 'getmore' })
  return inprog.map(({ opid, command }: Document) => ({ opid, cursor: command['getMore'] }))
}

async function oneStream(appName: string): Promise<{ opid: number; cursor: unknown }> {
  let all: { opid: number; cursor: unknown }[] = []
  await until('a change stream', async () => (all = await streams(appName)).length === 1)
  return all[0] as { opid: number; cursor: unknown }
}

async function waitersOf(key: string): Promise<number> {
  return (await recordOf(server, key))?.['waiters'].length ?? 0
}

const breaks: Readonly<Record<string, (appName: string) => Promise<unknown>>> = {
  'whose cursor is killed': async (appName) => {
    const { cursor } = await oneStream(appName)
    return server.command(DATABASE, { killCursors: COLLECTION, cursors: [cursor] })
  },
  'whose operation is killed': async (appName) => {
    const { opid } = await oneStream(appName)
    return server.command('admin', { killOp: 1, op: opid })
  },
  'whose connection is closed, twice': async (appName) => {
    const commands = ['getMore']
    await failCommand(server, { commands, mode: { times: 2 }, closeConnection: true, appName })
    const { opid } = await oneStream(appName)
    return server.command('admin', { killOp: 1, op: opid })
  },
  'that cannot be resumed': async (appName) => {
    const commands = ['getMore', 'aggregate']
    // The history that it would need is gone.
    await failCommand(server, { commands, mode: { times: 2 }, errorCode: 286, appName })
    const { opid } = await oneStream(appName)
    return server.command('admin', { killOp: 1, op: opid })
  },
}

describe('who waits by a change stream', () => {
  it.each(Object.keys(breaks))('%s: G7 G8 is woken all the same, and by push again', async (how) => {
    const appName = `stream ${how}`.slice(0, 100)
    const [holders, waiters] = [
      locksOn(storeOn(clientOn(server.url))),
      locksWithoutPoll(storeOn(clientOn(server.url, { appName }))),
    ]
    const { free } = await holdAndWait(holders, waiters, how)
    await until('its name on the list', async () => (await waitersOf(how)) === 1)
    await breaks[how]?.(appName)
    // At once: whatever is lost meanwhile costs a poll of the store, not of core.
    expect(await free()).toBeLessThan(2000)
    await oneStream(appName)
    const again = await holdAndWait(holders, waiters, how)
    await until('its name on the list', async () => (await waitersOf(how)) === 1)
    expect(await again.free()).toBeLessThan(PUSHED_MS)
    expect(waiters.stats().storeFailures).toBe(0)
  })

  it.each([
    { readConcern: { level: 'local' } },
    { readPreference: 'secondaryPreferred' },
    { raw: true },
    { socketTimeoutMS: 3000 },
    { promoteValues: false },
    { useBigInt64: true },
    { maxPoolSize: 2 },
    { serverApi: { version: '1', strict: true, deprecationErrors: true } },
  ] satisfies MongoClientOptions[])(
    'G8 is woken by push, whatever the client is set to: %j',
    async (options) => {
      const [holders, waiters] = [
        locksOn(storeOn(clientOn(server.url))),
        locksWithoutPoll(storeOn(clientOn(server.url, options))),
      ]
      const key = `woken under ${JSON.stringify(options)}`
      const { free } = await holdAndWait(holders, waiters, key)
      await until('its name on the list', async () => (await waitersOf(key)) === 1, 3000)
      expect(await free()).toBeLessThan(PUSHED_MS)
    },
  )

  it.each(['time', 'patience', 'its locks'])('and runs out of %s is taken off the list', async (what) => {
    const key = `given up for ${what}`
    const [holders, locks] = [locksOn(storeOn(server.url)), locksOn(storeOn(server.url))]
    const lease = await holders.acquire(key)
    const controller = new AbortController()
    const wait = what === 'time' ? '1500ms' : '30s'
    const turn = failureOf(locks.acquire(key, { wait, signal: controller.signal }))
    await until('its name on the list', async () => (await waitersOf(key)) === 1)
    if (what === 'patience') controller.abort()
    if (what === 'its locks') await locks.close()
    await turn
    await until('an empty list', async () => (await waitersOf(key)) === 0)
    expect(await lease.release()).toBe(true)
  })

  it('G8 hears of a key that was taken just after its list was asked for', async () => {
    const key = 'taken meanwhile'
    const wish = askFor(key)
    const other = storeOn(server.url)
    await other.open()
    const db = clientOn(server.url).db(DATABASE)
    let takes = 0
    const store = storeOn({
      databaseName: DATABASE,
      client: db.client,
      collection: (name: string) => db.collection(name),
      async command(command: Document, options?: object) {
        const reply = await db.command(command, options)
        const joins = JSON.stringify(command['updates'] ?? null).includes('"wanted":true')
        if (joins && takes++ === 0) await grantOf(other, wish)
        return reply
      },
    } as never)
    await store.open()
    const freed: string[] = []
    const watch = store.watch!((each) => freed.push(each))
    watch.add(key)
    await until('its name on the list', async () => (await waitersOf(key)) === 1)
    expect(takes).toBeGreaterThan(0)
    const before = freed.length
    await other.release([wish])
    await until('word of the release', () => freed.length > before)
    await watch.close()
  })

  it('G8 and is killed costs those behind it a poll, not a lease', async () => {
    const doomed = await oneProcess()
    await doomed.call('start', { url: server.url, database: DATABASE, driver: 7 })
    const [holders, locks] = [
      locksOn(storeOn(server.url), { lease: '60s' }),
      locksOn(storeOn(server.url), { poll: { max: '1s' } }),
    ]
    const lease = await holders.acquire('left')
    void doomed.call('acquire', 'left', { wait: '30s' }).catch(() => {})
    await until('the first', async () => (await waitersOf('left')) === 1)
    const turn = locks.acquire('left', { wait: '30s' })
    await until('the second', async () => (await waitersOf('left')) === 2)
    await doomed.end()
    const start = performance.now()
    await lease.release()
    await turn
    expect(performance.now() - start).toBeLessThan(2500)
  })

  it('G8 is one of 20: they are served one after the other, and nobody asks in vain', async () => {
    const all = Array.from({ length: 20 }, () => locksWithoutPoll(storeOn(server.url)))
    const holders = locksOn(storeOn(server.url))
    const lease = await holders.acquire('queue', { lease: '60s' })
    let inside = 0
    const turns = all.map((locks) =>
      locks.using('queue', { wait: '40s', lease: '60s' }, async () => {
        inside += 1
        expect(inside).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 10))
        inside -= 1
      }),
    )
    await until('all on the list', async () => (await waitersOf('queue')) === 20)
    const calls = (): number => all.reduce((sum, locks) => sum + locks.stats().storeCalls, 0)
    const before = calls()
    await lease.release()
    await Promise.all(turns)
    // One ask that is granted and one release for each; waking all of them each time would make it 200 more.
    expect(calls() - before).toBeLessThan(80)
  })
})
