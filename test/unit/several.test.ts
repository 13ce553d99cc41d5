import { describe, expect, it } from 'vitest'
import { LockError } from '../../src/errors.ts'
import { currentLease } from '../../src/section.ts'
import { gate, track, world } from './support/world.ts'

const keysOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `key-${1000 + i}`)

describe('several keys', () => {
  it('all are taken by one call of the store and given back by one, each once and in order', async () => {
    const { store, locks } = world()
    const lease = await locks.acquire(['b', 'a', 'a', 'c'])
    expect(lease.keys).toEqual(['a', 'b', 'c'])
    expect(lease.key).toBe('a')
    expect(store.count('acquire')).toBe(1)
    expect(lease.held).toBe(true)
    await expect(lease.release()).resolves.toBe(true)
    expect(store.count('release')).toBe(1)
    expect(lease.held).toBe(false)
    await expect(lease.release()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
    expect((await locks.list()).locks).toEqual([])
    await locks.close()
  })

  it('whichever was gone when all were given back is the one that the error names', async () => {
    const { locks, other } = world()
    const two = other()
    const section = locks.using(['alpha', 'beta', 'gamma'], () => two.forceRelease('beta'))
    await expect(section).rejects.toMatchObject({
      code: 'LOCK_LOST',
      key: 'beta',
      message: /"beta" was already gone/,
    })
    await locks.close()
    await two.close()
  })

  it('a thousand keys are one call, too; more are refused', async () => {
    const { store, locks } = world()
    const lease = await locks.acquire(keysOf(1000))
    expect(store.count('acquire')).toBe(1)
    await lease.release()
    expect(store.count('release')).toBe(1)
    await expect(locks.acquire(keysOf(1001))).rejects.toMatchObject({
      code: 'INVALID_LOCK_KEY',
      message: /at most 1000/,
    })
    await locks.close()
  })

  it('one key, even given twice, is as if it was given alone', async () => {
    const { locks } = world()
    const lease = await locks.acquire(['a', 'a'])
    expect(lease.keys).toEqual(['a'])
    expect(lease.token).toBe(lease.tokenFor('a'))
    await lease.release()
    await locks.close()
  })

  it('bad keys are INVALID_LOCK_KEY at the call, and calls on one key take no array', async () => {
    const { store, locks } = world()
    for (const keys of [[], ['a', ''], ['a', 5], [['a']], ['a\n', 'b']]) {
      await expect(locks.acquire(keys as string[])).rejects.toMatchObject({ code: 'INVALID_LOCK_KEY' })
    }
    for (const call of [
      () => locks.inspect(['a'] as never),
      () => locks.forceRelease(['a'] as never),
      () => locks.once(['a'] as never, { done: () => true, run: () => {} }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'INVALID_LOCK_KEY', message: /list of keys/ })
    }
    expect(store.calls).toEqual([])
    await locks.close()
  })

  it('each key has a token of its own, and the lease itself has none', async () => {
    const { locks } = world()
    const lease = await locks.acquire(['a', 'b'])
    expect(() => lease.token).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('tokenFor') }),
    )
    expect(() => lease.tokenFor('c')).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }))
    expect(JSON.parse(JSON.stringify(lease))).toEqual({
      keys: ['a', 'b'],
      tokens: { a: String(lease.tokenFor('a')), b: String(lease.tokenFor('b')) },
      held: true,
      remainingMs: expect.any(Number),
    })
    await locks.close()
  })

  it('G1 it excludes holders of the single keys, and they exclude it', async () => {
    const { locks, other } = world()
    const two = other()
    const both = await locks.acquire(['a', 'b'])
    expect(await two.tryAcquire('a')).toBeNull()
    expect(await two.tryAcquire(['b', 'c'])).toBeNull()
    await both.release()
    const single = await two.acquire('b')
    expect(await locks.tryAcquire(['a', 'b'])).toBeNull()
    expect((await locks.list()).locks.map(({ key }) => key)).toEqual(['b'])
    await single.release()
    await two.close()
    await locks.close()
  })

  it('G3 tokens of each key rise, whether it was taken alone or with others', async () => {
    const { locks, other } = world()
    const two = other()
    let last = 0n
    for (const keys of [['a', 'b'], 'b', ['b', 'c'], ['a', 'b', 'c'], 'b'] as const) {
      const lease = await (keys.length % 2 ? locks : two).acquire(keys as string)
      expect(lease.tokenFor('b')).toBeGreaterThan(last)
      last = lease.tokenFor('b')
      await lease.release()
    }
    await two.close()
    await locks.close()
  })

  it('while it waits it has only keys before the one it waits for', async () => {
    const { time, locks, other } = world()
    const two = other()
    const taken = await two.acquire('b')
    const waiting = track(locks.acquire(['a', 'b', 'c'], { wait: '10s' }))
    await time.settle()
    expect(waiting.settled).toBe(false)
    const shown = (await two.list()).locks.map(({ key, holder }) => `${key} ${holder.service}`)
    expect(shown).toEqual(['a one', 'b two'])
    await taken.release()
    await time.settle()
    expect(waiting.value?.keys).toEqual(['a', 'b', 'c'])
    expect(waiting.value?.held).toBe(true)
    await two.close()
    await locks.close()
  })

  it('two that take the same keys in any order never wait for each other', async () => {
    const { time, locks, other } = world()
    const two = other()
    const log: string[] = []
    const work = async (client: typeof locks, keys: string[]): Promise<void> => {
      for (let turn = 0; turn < 20; turn += 1) {
        await client.using(keys, { wait: Infinity }, async () => {
          log.push('in')
          await Promise.resolve()
          log.push('out')
        })
      }
    }
    const all = track(
      Promise.all([
        work(locks, ['a', 'b', 'c']),
        work(two, ['c', 'b', 'a']),
        work(locks, ['b', 'c', 'a']),
        work(two, ['c', 'a', 'b']),
      ]),
    )
    await time.advance(60_000)
    expect(all).toMatchObject({ settled: true })
    expect(log.join(' ')).toBe(Array.from({ length: 80 }, () => 'in out').join(' '))
    await two.close()
    await locks.close()
  })

  it('after the wait it has nothing, says which key it was, and counts as one time-out', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('c')
    const timeouts: string[] = []
    locks.on('timeout', ({ key }) => timeouts.push(key))
    const waiting = track(locks.acquire(['a', 'b', 'c', 'd'], { wait: '2s' }))
    await time.advance(2_000)
    expect(waiting.error).toMatchObject({
      code: 'LOCK_ACQUIRE_TIMEOUT',
      key: 'c',
      message: /"c", one of 4 keys, within 2000 ms; it is held by two/,
    })
    expect((await two.list()).locks.map(({ key }) => key)).toEqual(['c'])
    expect(timeouts).toEqual(['c'])
    expect(locks.stats()).toMatchObject({ timedOut: 1, held: 0, waiting: 0 })
    expect(await locks.tryAcquire(['c', 'd'])).toBeNull()
    expect(locks.stats()).toMatchObject({ timedOut: 2, held: 0 })
    const { requests, granted, timedOut } = locks.stats()
    expect(requests).toBe(granted + timedOut)
    await two.close()
    await locks.close()
  })

  it('a signal ends the wait at once, also while the first call is on its way; all is given back', async () => {
    const { time, store, locks, other } = world()
    const two = other()
    const stop = new AbortController()
    const held = gate()
    store.mood.acquire = held.promise
    const first = track(locks.acquire(['a', 'b'], { signal: stop.signal }))
    await time.settle()
    stop.abort(new Error('enough'))
    await time.settle()
    expect(first.error).toMatchObject({ code: 'LOCK_ABORTED' })
    delete store.mood.acquire
    held.open()
    await time.settle()
    expect((await two.list()).locks).toEqual([])
    await expect(locks.acquire(['a', 'b'], { signal: stop.signal })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    })
    expect(locks.stats()).toMatchObject({ aborted: 2 })
    await two.close()
    await locks.close()
  })

  it('G2 one signal, as soon as any key is lost; the others end with their lease if nobody releases', async () => {
    const { time, locks, other } = world({ lease: '3s' })
    const two = other()
    const lease = await locks.acquire(['a', 'b', 'c'])
    const { signal } = lease
    await two.forceRelease('b')
    await time.advance(1_100)
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', key: 'b' })
    expect(lease.held).toBe(false)
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST', key: 'b' }))
    expect((await two.list()).locks.map(({ key }) => key)).toEqual(['a', 'c'])
    await time.advance(3_000)
    expect((await two.list()).locks).toEqual([])
    await expect(lease.release()).resolves.toBe(false)
    await two.close()
    await locks.close()
  })

  it('G6 using rejects with LOCK_LOST, and what was not lost is free when the body has ended', async () => {
    const { time, locks, other } = world({ lease: '3s' })
    const two = other()
    const busy = gate()
    const outcome = track(locks.using(['a', 'b'], () => busy.promise))
    await time.settle()
    await two.forceRelease('a')
    await time.advance(1_100)
    busy.open()
    await time.settle()
    expect(outcome.error).toMatchObject({ code: 'LOCK_LOST', key: 'a' })
    expect((await two.list()).locks).toEqual([])
    await two.close()
    await locks.close()
  })

  it('a hold that winds down is not passed on to the next in line', async () => {
    const { time, locks, other } = world({ lease: '3s' })
    const two = other()
    const lease = await locks.acquire(['a', 'b'])
    await two.forceRelease('a')
    await time.advance(1_100)
    const next = locks.acquire('b')
    await time.settle()
    await lease.release()
    const b = await next
    await time.advance(10_000)
    expect(b.held).toBe(true)
    await two.close()
    await locks.close()
  })

  it('all are renewed together for as long as it is held, and extend extends all', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const lease = await locks.acquire(['a', 'b', 'c'])
    await time.advance(10_000)
    expect(lease.held).toBe(true)
    expect(store.calls.filter(({ step, items }) => step === 'renew' && items === 3).length).toBeGreaterThan(5)
    await lease.extend('60s')
    expect(lease.remainingMs).toBeGreaterThan(50_000)
    await expect(lease.extend('nonsense' as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await locks.close()
  })

  it('G10 keys that the same flow holds are entered again; each of several can be entered inside', async () => {
    const { store, locks } = world()
    await locks.using('b', async (outer) => {
      await locks.using(['a', 'b'], async (inner) => {
        expect(inner.tokenFor('b')).toBe(outer.token)
        const calls = store.calls.length
        await locks.using('a', (lease) => expect(lease.token).toBe(inner.tokenFor('a')))
        await locks.using(['b', 'a'], (lease) => expect(lease.tokenFor('a')).toBe(inner.tokenFor('a')))
        expect(store.calls.length).toBe(calls)
      })
      expect(outer.held).toBe(true)
      expect(await locks.inspect('a')).toBeNull()
    })
    await locks.using('b', async () => {
      await expect(locks.acquire(['a', 'b'], { reentrant: false })).rejects.toMatchObject({
        code: 'DEADLOCK',
      })
    })
    expect((await locks.list()).locks).toEqual([])
    await locks.close()
  })

  it('atLeast keeps all of them, but not what was only tried', async () => {
    const { time, locks, other } = world()
    const two = other()
    const taken = await two.acquire('a')
    expect(await locks.tryAcquire(['a', 'b'], { atLeast: '5s' })).toBeNull()
    await time.settle()
    expect(await two.inspect('b')).toBeNull()
    await taken.release()
    await (await locks.acquire(['a', 'b'], { atLeast: '5s' })).release()
    expect((await two.list()).locks.length).toBe(2)
    await time.advance(5_000)
    expect((await two.list()).locks).toEqual([])
    await two.close()
    await locks.close()
  })

  it('G7 a store that is down is STORE_UNAVAILABLE after the wait; one that comes back in time is not', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const down = track(locks.acquire(['a', 'b'], { wait: '1s' }))
    await time.advance(1_000)
    expect(down.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(locks.tryAcquire(['a', 'b'])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    store.mood.acquire = 'hang'
    const silent = track(locks.acquire(['a', 'b'], { wait: '1s' }))
    await time.advance(1_000)
    expect(silent.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const back = track(locks.acquire(['a', 'b'], { wait: '20s' }))
    await time.advance(4_000)
    delete store.mood.acquire
    await time.advance(4_000)
    expect(back.value?.keys).toEqual(['a', 'b'])
    await back.value?.release()
    expect((await locks.list()).locks).toEqual([])
    await locks.close()
  })

  it('what is lost while it waits for another is taken again', async () => {
    const { time, locks, other } = world({ lease: '3s' })
    const two = other()
    const taken = await two.acquire('b')
    const waiting = track(locks.acquire(['a', 'b'], { wait: '30s' }))
    await time.settle()
    await two.forceRelease('a')
    await time.advance(2_000)
    await taken.release()
    await time.advance(2_000)
    expect(waiting.value?.held).toBe(true)
    expect((await two.list()).locks.map(({ key, holder }) => `${key} ${holder.service}`)).toEqual([
      'a one',
      'b one',
    ])
    await two.close()
    await locks.close()
  })

  it('G12 close turns those that wait away, tells those that hold, and leaves nothing', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('c')
    const lease = await locks.acquire(['a', 'b'])
    const waiting = track(locks.acquire(['aa', 'c'], { wait: Infinity }))
    const body = track(
      locks.using(
        ['x', 'y'],
        (inside) => new Promise<void>((resolve) => inside.signal.addEventListener('abort', () => resolve())),
      ),
    )
    await time.settle()
    const { signal } = lease
    const closed = track(locks.close())
    await time.advance(1_000)
    expect(closed.settled).toBe(true)
    expect(waiting.error).toMatchObject({ code: 'CLOSED' })
    expect(body.settled).toBe(true)
    expect(signal.reason).toBeInstanceOf(LockError)
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'CLOSED' }))
    expect((await two.list()).locks.map(({ key }) => key)).toEqual(['c'])
    await two.close()
  })

  it('currentLease is the lease around the code that asks', async () => {
    const { locks } = world()
    expect(currentLease()).toBeNull()
    await locks.using(['a', 'b'], async (outer) => {
      expect(currentLease()).toBe(outer)
      await locks.using('c', async (inner) => {
        await Promise.resolve()
        expect(currentLease()).toBe(inner)
      })
      expect(currentLease()).toBe(outer)
    })
    expect(currentLease()).toBeNull()
    await locks.close()
  })
})
