import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { startRedis } from '../servers/redis.ts'
import {
  atLast,
  everyClient,
  failureOf,
  locksOn,
  nameOf,
  oneProcess,
  proxyTo,
  storeOn,
  until,
  waitersOf,
} from '../support/redis-stage.ts'
import { holdAndWait } from '../support/stage.ts'

const server = await startRedis()
atLast(() => server.stop())
/** No poll of core is as fast in these tests. */
const PUSHED_MS = 300

/** Ids of the connections that listen. */
async function listeners(): Promise<string[]> {
  const list = String(await server.command('client', 'list', 'type', 'pubsub'))
  return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id as string)
}

/** A key that is held beside whatever is wrong with the network of the waiter. */
function heldBeside(waiters: Locks, key: string): Promise<{ free(): Promise<number> }> {
  return holdAndWait(locksOn(storeOn(server.url)), waiters, key)
}

/** How long the middle one of several turns takes to pass from one process to another. */
async function handOver(waiters: Locks, key: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 5; i += 1) {
    const { free } = await heldBeside(waiters, key)
    await until('a name on the list', async () => (await waitersOf(server, nameOf(key))).length === 1)
    times.push(await free())
  }
  return times.sort((a, b) => a - b)[2] ?? Infinity
}

describe.each(everyClient)('$name: who waits', (client) => {
  it('G7 G8 gets the key though its listening connection is killed, and is woken by push again', async () => {
    // A poll so slow that only push can be meant.
    const locks = locksOn(storeOn(await client.open(server.url)), { poll: { max: '20s' } })
    const key = `killed under ${client.name}`
    expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
    const { free } = await heldBeside(locks, key)
    await until('a listener', async () => (await listeners()).length === 1)
    const [old = ''] = await listeners()
    await server.command('client', 'kill', 'id', old)
    // At once: whatever is lost meanwhile costs a poll of the store, not of core.
    expect(await free()).toBeLessThan(2000)
    const again = await heldBeside(locks, key)
    await until('another listener', async () => (await listeners()).some((id) => id !== old))
    expect(await again.free()).toBeLessThan(2000)
    expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
  })

  it('G7 gets the key though the network is cut again and again, and leases go on', async () => {
    const { proxy, url } = await proxyTo(server.url)
    const locks = locksOn(storeOn(await client.open(url)), { lease: '6s', poll: { max: '20s' } })
    const key = `cut from ${client.name}`
    expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
    const lease = await locks.acquire(`${key}, held`)
    const { free } = await heldBeside(locks, key)
    for (let i = 0; i < 3; i += 1) {
      proxy.cut()
      await locks.acquire(`${key} ${i}`)
    }
    expect(await free()).toBeLessThan(2000)
    const { renewals } = locks.stats()
    await until('a renewal', () => locks.stats().renewals > renewals)
    expect(lease.held).toBe(true)
    await until('a listener', async () => (await listeners()).length === 1)
    expect(await handOver(locks, key)).toBeLessThan(PUSHED_MS)
    await locks.close()
  })

  it.each(['time', 'patience'])('and runs out of %s is taken off the list', async (what) => {
    const key = `given up for ${what}, ${client.name}`
    const [holders, locks] = [locksOn(storeOn(server.url)), locksOn(storeOn(await client.open(server.url)))]
    const lease = await holders.acquire(key)
    // Connects, which is no part of the wait.
    await locks.inspect(key)
    const controller = new AbortController()
    const wait = what === 'time' ? '4s' : '30s'
    const turn = failureOf(locks.acquire(key, { wait, signal: controller.signal }))
    await until('its name on the list', async () => (await waitersOf(server, nameOf(key))).length === 1)
    if (what === 'patience') controller.abort()
    expect(await turn).toMatchObject({
      code: what === 'time' ? 'LOCK_ACQUIRE_TIMEOUT' : 'LOCK_ABORTED',
    })
    await until('an empty list', async () => (await waitersOf(server, nameOf(key))).length === 0)
    expect(await lease.release()).toBe(true)
    expect(await server.command('exists', nameOf(key))).toBe(0)
  })

  it('and closes is taken off the list, and nothing is left on the server', async () => {
    const key = `closed, ${client.name}`
    const [holders, locks] = [locksOn(storeOn(server.url)), locksOn(storeOn(await client.open(server.url)))]
    const lease = await holders.acquire(key)
    const turn = failureOf(locks.acquire(key, { wait: '30s' }))
    await until('its name on the list', async () => (await waitersOf(server, nameOf(key))).length === 1)
    await locks.close()
    expect(await turn).toMatchObject({ code: 'CLOSED' })
    expect(await waitersOf(server, nameOf(key))).toEqual([])
    await lease.release()
    await holders.close()
    expect(await server.command('exists', nameOf(key))).toBe(0)
    await until('no listener', async () => (await listeners()).length === 0)
  })
})

describe('who waits', () => {
  it('G8 and is killed costs those behind it a poll, not a lease', async () => {
    const doomed = await oneProcess()
    await doomed.call('start', { urls: [server.url], driver: 'ioredis', prefix: 'holdfast' })
    const [holders, locks] = [
      locksOn(storeOn(server.url)),
      locksOn(storeOn(server.url), { poll: { max: '1s' } }),
    ]
    const lease = await holders.acquire('left')
    void doomed.call('acquire', 'left', { wait: '30s' }).catch(() => {})
    await until('the first', async () => (await waitersOf(server, nameOf('left'))).length === 1)
    const turn = locks.acquire('left', { wait: '30s' })
    await until('the second', async () => (await waitersOf(server, nameOf('left'))).length === 2)
    await doomed.end()
    const start = performance.now()
    await lease.release()
    await turn
    expect(performance.now() - start).toBeLessThan(2000)
  })

  it('G8 is one of 30: they are served one after the other, and nobody asks in vain', async () => {
    const all = Array.from({ length: 30 }, () => locksOn(storeOn(server.url), { poll: { max: '30s' } }))
    const holders = locksOn(storeOn(server.url))
    const lease = await holders.acquire('queue')
    let inside = 0
    const turns = all.map((locks) =>
      locks.using('queue', { wait: '40s' }, async () => {
        inside += 1
        expect(inside).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 10))
        inside -= 1
      }),
    )
    await until('all on the list', async () => (await waitersOf(server, nameOf('queue'))).length === 30)
    const calls = (): number => all.reduce((sum, locks) => sum + locks.stats().storeCalls, 0)
    const before = calls()
    const start = performance.now()
    await lease.release()
    await Promise.all(turns)
    // 300 ms are the work itself.
    expect(performance.now() - start).toBeLessThan(3000)
    // One ask that is granted and one release for each; waking all of them each time would make it 400 more.
    expect(calls() - before).toBeLessThan(100)
  })

  it('G8 is one of more than the list takes: the others poll, and all are served', async () => {
    const all = Array.from({ length: 110 }, () => locksOn(storeOn(server.url), { poll: { max: '500ms' } }))
    const holders = locksOn(storeOn(server.url))
    const lease = await holders.acquire('crowd')
    const turns = all.map((locks) => locks.using('crowd', { wait: '50s' }, () => undefined))
    await until('a full list', async () => (await waitersOf(server, nameOf('crowd'))).length === 100)
    await lease.release()
    await Promise.all(turns)
    await Promise.all([...all, holders].map((locks) => locks.close()))
    expect(await server.command('exists', nameOf('crowd'))).toBe(0)
  })

  it('for a key without an expiry, which somebody took off, goes by push and asks now and then', async () => {
    const [holders, locks] = [
      locksOn(storeOn(server.url), { lease: '60s' }),
      locksOn(storeOn(server.url), { poll: { max: '1s' } }),
    ]
    const lease = await holders.acquire('endless')
    await server.command('persist', nameOf('endless'))
    const turn = locks.acquire('endless', { wait: '30s' })
    await until('its name on the list', async () => (await waitersOf(server, nameOf('endless'))).length === 1)
    const before = locks.stats().storeCalls
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(locks.stats().storeCalls - before).toBeLessThan(5)
    await lease.release()
    expect((await turn).token).toBeGreaterThan(lease.token)
  })
})
