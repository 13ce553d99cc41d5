import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import {
  atLast,
  callsOf,
  type ClientKind,
  everyClient,
  failureOf,
  LEAST_RIGHTS,
  locksOn,
  nameOf,
  storeOn,
  until,
  waitersOf,
} from '../support/redis-stage.ts'

const server = await startRedis()
atLast(() => server.stop())

const commands = LEAST_RIGHTS.filter((right) => right.startsWith('+')).map((right) => right.slice(1))

async function allow(...rights: readonly string[]): Promise<string> {
  await server.command('acl', 'setuser', 'least', 'reset', 'on', '>secret', ...LEAST_RIGHTS, ...rights)
  await server.command('acl', 'log', 'reset')
  await server.command('script', 'flush')
  return server.url.replace('//', '//least:secret@')
}

/** What was refused since. */
async function refused(): Promise<string[]> {
  const log = (await server.command('acl', 'log')) as string[][]
  return log.map((entry) => entry[entry.indexOf('object') + 1] ?? '')
}

let runs = 0

/** All that a store can do: three processes at one key. */
async function doAll(client: ClientKind, url: string): Promise<{ failures: number; pushed: boolean }> {
  runs += 1
  const key = `${client.name} ${runs}`
  const all = await Promise.all(
    [1, 2, 3].map(async () =>
      locksOn(storeOn(await client.open(url)), { lease: '10s', poll: { max: '5s' } }),
    ),
  )
  const [locks, second, third] = all as [(typeof all)[0], (typeof all)[0], (typeof all)[0]]
  const listed = (count: number): Promise<void> =>
    until(
      `${count} on the list`,
      async () => (await waitersOf(server, nameOf(key))).length === count,
      2000,
    ).catch(() => undefined)
  const lease = await locks.acquire(key, { rotateToken: '100ms' })
  const turns = [second.acquire(key, { wait: '20s' })]
  await listed(1)
  turns.push(third.acquire(key, { wait: '20s' }))
  await listed(2)
  await until('renewals', () => locks.stats().renewals > 1)
  await locks.list()
  const start = performance.now()
  await lease.release()
  await (await turns[0])?.release()
  await turns[1]
  const pushed = performance.now() - start < 1000
  await failureOf(locks.acquire(key, { wait: '100ms' }))
  await locks.forceRelease(key)
  return { failures: all.reduce((sum, each) => sum + each.stats().storeFailures, 0), pushed }
}

describe('a user with the least rights', () => {
  it.each(everyClient)('G8 can do it all with $name, and nothing of it is refused', async (client) => {
    const url = await allow()
    expect(await doAll(client, url)).toEqual({ failures: 0, pushed: true })
    expect(await refused()).toEqual([])
  })

  it('can do nothing else', async () => {
    await allow()
    const dryRun = (...command: string[]): Promise<unknown> =>
      server.command('acl', 'dryrun', 'least', ...command)
    for (const command of [['flushall'], ['keys', '*'], ['config', 'get', '*'], ['get', 'other']]) {
      expect(await dryRun(...command)).toMatch(/no permissions/)
    }
    expect(await dryRun('get', 'holdfast:{00}:fence')).toBe('OK')
    expect(await dryRun('publish', 'other', 'x')).toMatch(/no permissions/)
  })

  it('has no use for fewer: each of them is called', async () => {
    const url = await allow()
    await server.command('config', 'resetstat')
    await Promise.all(everyClient.map((client) => doAll(client, url)))
    const unused = async (): Promise<string[]> => {
      const used = Object.keys(await callsOf(server))
      return commands.filter((command) => !used.includes(command))
    }
    // A listening connection is asked from time to time whether it is alive; and a channel is kept for a while.
    expect((await unused()).filter((name) => name !== 'ping' && name !== 'unsubscribe')).toEqual([])
    await until('the rest', async () => (await unused()).length === 0)
  })
})
