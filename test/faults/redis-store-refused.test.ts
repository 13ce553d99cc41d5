import { describe, expect, it } from 'vitest'
import type { Answer, Fault, Renewal, Store } from '../../src/store.ts'
import { startRedis } from '../servers/redis.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  everyClient,
  failureOf,
  locksOn,
  nameOf,
  storeOn,
  until,
  waitersOf,
} from '../support/redis-stage.ts'

const server = await startRedis()
atLast(() => server.stop())
const command = server.command.bind(server)

/** Each ask as granted, denied, or what its error says. */
function told(answers: readonly (Answer | Fault | object)[]): unknown[] {
  return answers.map((answer) => {
    if ('error' in answer) return String((answer as { error: Error }).error.message)
    if ('granted' in answer) return answer.granted
    return answer
  })
}

const fenceOf = (key: string): string => nameOf(key).replace(/(?<=\}:).*/, 'fence')

describe.each(everyClient)('$name: a server', (client) => {
  it('G7 that is out of memory grants nothing and says why; renewals and releases go on', async () => {
    const store = storeOn(await client.open(server.url))
    const locks = locksOn(store, { lease: '20s' })
    const key = `memory of ${client.name}`
    const lease = await locks.acquire(key)
    const rotating = await locks.acquire(`${key}, rotating`, { rotateToken: '300ms' })
    const { token } = rotating
    await command('config', 'set', 'maxmemory', '1mb')
    atEnd(() => command('config', 'set', 'maxmemory', 0))
    const before = await command('dbsize')
    const error = await failureOf(locks.tryAcquire(`${key}, other`))
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/out of memory.*maxmemory.*OOM/),
    })
    const answers = await store.acquire(Array.from({ length: 30 }, (_, i) => askFor(`${key} ${i}`)))
    expect(told(answers)).toEqual(answers.map(() => expect.stringMatching(/out of memory.*OOM/)))
    expect(await command('dbsize')).toBe(before)
    for (const one of [lease, rotating]) await one.extend()
    await until('another token', () => rotating.token > token)
    expect([lease.held, rotating.held]).toEqual([true, true])
    expect([await lease.release(), await rotating.release()]).toEqual([true, true])
    await command('config', 'set', 'maxmemory', 0)
    expect((await locks.acquire(key)).token).toBeGreaterThan(lease.token)
  })

  it('G7 that is out of memory takes keys back that several wait for, and all others with them', async () => {
    const [holder, ...waiters] = [1, 2, 3].map(() => storeOn(server.url)) as [Store, Store, Store]
    const [hot, forced, cold] = ['hot', 'forced', 'cold'].map((name) => `${name} under ${client.name}`) as [
      string,
      string,
      string,
    ]
    const store = storeOn(await client.open(server.url))
    const asks = [hot, cold].map((key) => askFor(key))
    const grants = await store.acquire(asks)
    expect(told(grants)).toEqual([true, true])
    await holder.acquire([askFor(forced)])
    const heard: string[] = []
    for (const waiter of waiters) {
      const watch = waiter.watch?.((key) => heard.push(key))
      for (const key of [hot, forced]) {
        watch?.add(key)
        await waiter.acquire([askFor(key)])
      }
    }
    for (const key of [hot, forced])
      await until('two on the list', async () => (await waitersOf(server, nameOf(key))).length === 2)
    await command('config', 'set', 'maxmemory', '1mb')
    atEnd(() => command('config', 'set', 'maxmemory', 0))
    expect(await store.release(asks)).toEqual([
      { released: true, wanted: true },
      { released: true, wanted: false },
    ])
    expect(await store.evict(forced)).toMatchObject({ key: forced })
    await until('word to one of each', () => heard.includes(hot) && heard.includes(forced))
    for (const key of [hot, forced, cold]) expect((await store.list({ key, limit: 1 })).locks).toEqual([])
  })

  it('G3 G7 that became a replica refuses and says why, and goes on where it was once it is a master again', async () => {
    const locks = locksOn(storeOn(await client.open(server.url)), { lease: '4s' })
    const key = `kept by a replica under ${client.name}`
    const lease = await locks.acquire(key)
    // Its master cannot be reached, so it keeps what it has.
    await command('replicaof', '127.0.0.1', 1)
    atEnd(() => command('replicaof', 'no', 'one'))
    expect(await failureOf(locks.tryAcquire(`${key}, other`))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/server is a replica; connect to the master.*READONLY/),
    })
    const { renewals, storeFailures } = locks.stats()
    await until('a renewal that is refused', () => locks.stats().storeFailures > storeFailures + 1)
    expect(lease.held).toBe(true)
    await command('replicaof', 'no', 'one')
    await until('a renewal', () => locks.stats().renewals > renewals)
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe(true)
    expect((await locks.acquire(key)).token).toBeGreaterThan(lease.token)
  })

  it('G7 that lacks a right refuses and says which, until it is granted', async () => {
    const user = client.driver
    await command('acl', 'setuser', user, 'reset', 'on', 'nopass', '~*', '&*', '+@all', '-evalsha')
    const url = server.url.replace('//', `//${user}:any@`)
    const locks = locksOn(storeOn(await client.open(url)))
    const expected = {
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/lacks a right.*docs\/stores\/redis\.md.*(NOPERM|user executing)/),
    }
    const key = `rights of ${client.name}`
    expect(await failureOf(locks.tryAcquire(key))).toMatchObject(expected)
    // Found out in the middle of a step, for one key and for two: nothing is left of it.
    for (const right of ['set', 'mget', 'mset']) {
      const keys = [`${key}: ${right}`, ...(right === 'mset' ? [`${key}: ${right}, too`] : [])]
      await command('acl', 'setuser', user, '+@all', `-${right}`)
      expect(await failureOf(locks.tryAcquire(keys))).toMatchObject(expected)
      await until(
        'nothing left',
        async () => (await command('exists', ...keys.map((each) => nameOf(each)))) === 0,
      )
    }
    await command('acl', 'setuser', user, '+@all')
    expect(await locks.tryAcquire(key)).not.toBeNull()
  })

  it('whose names are taken: only the keys concerned fail, and work when they are not', async () => {
    const store = storeOn(await client.open(server.url))
    const keys = ['a', 'b', 'c'].map((each) => `${client.name}: ${each}`)
    const asks = keys.map((key) => askFor(key))
    const [, taken = ''] = keys
    await command('set', nameOf(taken), 'something else')
    const fault = expect.stringMatching(/name is taken by something that is not of holdfast.*WRONGTYPE/)
    expect(told(await store.acquire(asks))).toEqual([true, fault, true])
    expect(told(await store.renew(asks as Renewal[]))).toEqual([
      { renewed: true, grant: expect.any(Number) },
      fault,
      { renewed: true, grant: expect.any(Number) },
    ])
    expect((await store.list({ prefix: client.name, limit: 10 })).locks).toHaveLength(2)
    expect((await store.list({ key: taken, limit: 10 })).locks).toEqual([])
    expect(await store.evict(taken)).toBeNull()
    const released = { released: true, wanted: false }
    expect(told(await store.release(asks))).toEqual([released, fault, released])
    expect(await command('get', nameOf(taken))).toBe('something else')
    await command('del', nameOf(taken))
    expect(told(await store.acquire(asks))).toEqual([true, true, true])
  })

  it.each(['set', 'rpush'])('whose name is taken by %s: asked for alone, it stays as it is', async (how) => {
    const store = storeOn(await client.open(server.url))
    const wish = askFor(`${client.name} alone, by ${how}`)
    // Else there is no fence yet.
    await grantOf(store, wish)
    await store.release([wish])
    await command(how, nameOf(wish.key), 'something else')
    const fault = expect.stringMatching(/name is taken by something that is not of holdfast.*WRONGTYPE/)
    expect(told(await store.acquire([wish]))).toEqual([fault])
    expect(told(await store.release([wish]))).toEqual([fault])
    expect(await command('type', nameOf(wish.key))).toBe(how === 'set' ? 'string' : 'list')
  })

  it.each(['garbage', '', '-1', '1e400', '0x10', '99999999999999999999', 'a list'])(
    'G3 whose fence is %j: only the keys of its bucket fail, and work when it is gone',
    async (value) => {
      const store = storeOn(await client.open(server.url), { push: false })
      const [key, other] = [`${client.name} behind ${value}`, `${client.name} beside ${value}`]
      const first = askFor(key)
      const grant = await grantOf(store, first)
      const fence = fenceOf(key)
      expect(fenceOf(other)).not.toBe(fence)
      await command('del', fence)
      if (value === 'a list') await command('rpush', fence, 'x')
      else await command('set', fence, value)
      const fault = expect.stringMatching(/not of holdfast; choose another `prefix`.*WRONGTYPE/)
      // What is there goes on; only what needs a number fails.
      expect(told(await store.renew([first]))).toEqual([{ renewed: true, grant }])
      expect(told(await store.renew([{ ...first, rotate: true }]))).toEqual([fault])
      expect(told(await store.release([first]))).toEqual([{ released: true, wanted: false }])
      const asks = [askFor(key), askFor(other)]
      expect(told(await store.acquire(asks))).toEqual([fault, true])
      expect(told(await store.acquire([askFor(key)]))).toEqual([fault])
      expect(await command('exists', nameOf(key))).toBe(0)
      await command('del', fence)
      expect(await grantOf(store, askFor(key))).toBeGreaterThan(grant)
    },
  )
})
