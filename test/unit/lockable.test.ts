import { describe, expect, it } from 'vitest'
import { currentLease, type LockError } from '../../src/index.ts'
import { gate, track, world } from './support/world.ts'

describe('a lockable function', () => {
  it('keeps this, the arguments, the name and the result, and is always asynchronous', async () => {
    const { locks } = world()
    const shop = {
      tenant: 't1',
      take: locks.lockable(
        function take(this: { tenant: string }, sku: string, count: number): unknown[] {
          return [this.tenant, sku, count, currentLease()?.key]
        },
        { key: 'stock:{self.tenant}:{0}' },
      ),
    }
    expect(shop.take.name).toBe('take')
    expect(shop.take.length).toBe(2)
    const result = shop.take('a', 3)
    expect(result).toBeInstanceOf(Promise)
    await expect(result).resolves.toEqual(['t1', 'a', 3, 'stock:t1:a'])
    await locks.close()
  })

  it('excludes calls with the same key, here and elsewhere, and no others', async () => {
    const { time, locks, other } = world()
    const elsewhere = other()
    const busy = gate()
    const begun: string[] = []
    const work = async (id: string): Promise<void> => {
      begun.push(id)
      await busy.promise
    }
    const here = locks.lockable(work, { key: (id) => `job:${id}` })
    const there = elsewhere.lockable(work, { key: 'job:{0}' })
    const all = [here('a'), here('a'), there('a'), here('b')]
    await time.settle()
    expect(begun.sort()).toEqual(['a', 'b'])
    busy.open()
    await time.advance(1_000)
    await Promise.all(all)
    expect(begun).toHaveLength(4)
    await locks.close()
    await elsewhere.close()
  })

  it('may be a method of any name', async () => {
    const { locks } = world()
    const school = {
      class(of: number): number {
        return of
      },
      class$(of: number): number {
        return of
      },
    }
    await expect(locks.lockable(school.class, { key: 'k' })(1)).resolves.toBe(1)
    await expect(locks.lockable(school.class$, { key: 'k' })(2)).resolves.toBe(2)
    await locks.close()
  })

  it('takes several keys that its key function gives', async () => {
    const { locks, store } = world()
    const move = locks.lockable(async (_from: string, _to: string) => (await store.heldKeys()).sort(), {
      key: (from, to) => [`account:${to}`, `account:${from}`],
    })
    await expect(move('a', 'b')).resolves.toEqual(['account:a', 'account:b'])
    await expect(store.heldKeys()).resolves.toEqual([])
    await locks.close()
  })

  it('is a section of using: it re-enters, and its lease is the current one', async () => {
    const { locks, store } = world()
    const inner = locks.lockable(() => currentLease()?.token, { key: 'k' })
    const outer = locks.lockable(async () => [currentLease()?.token, await inner()], { key: 'k' })
    const [a, b] = await outer()
    expect(a).toBeTypeOf('bigint')
    expect(b).toBe(a)
    expect(store.count('acquire')).toBe(1)
    expect(currentLease()).toBeNull()
    await locks.close()
  })

  it('rejects with LOCK_LOST when its lease was lost, unless onLost says otherwise', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    store.mood.renew = 'fail'
    const slow = async (): Promise<string> => {
      const lease = currentLease()
      await time.advance(2_000)
      expect(lease?.held).toBe(false)
      return 'ended'
    }
    await expect(locks.lockable(slow, { key: 'a' })()).rejects.toMatchObject({ code: 'LOCK_LOST' })
    await expect(locks.lockable(slow, { key: 'b', onLost: 'ignore' })()).resolves.toBe('ended')
    await locks.close()
  })

  it('passes the options of the lock on; context and signal may come from the arguments', async () => {
    const { time, locks } = world()
    const stop = new AbortController()
    const look = locks.lockable((id: string, _signal?: AbortSignal) => locks.inspect(`k:${id}`), {
      key: 'k:{0}',
      lease: '1m',
      wait: Infinity,
      context: (id) => ({ why: id }),
      signal: (_id, signal) => signal,
    })
    await expect(look('x')).resolves.toMatchObject({
      leaseMs: 60_000,
      holder: { context: '{"why":"x"}' },
    })
    const lease = await locks.acquire('k:x')
    const waiting = track(look('x', stop.signal))
    await time.settle()
    expect(waiting.settled).toBe(false)
    stop.abort()
    await time.settle()
    expect(waiting.error).toMatchObject({ code: 'LOCK_ABORTED' })
    await lease.release()
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('takes the context as a value too', async () => {
    const { locks } = world()
    const look = locks.lockable(() => locks.inspect('k'), { key: 'k', context: 'nightly' })
    await expect(look()).resolves.toMatchObject({ holder: { context: 'nightly' } })
    await locks.close()
  })

  it('follows the defaults of its client, also those that came later', async () => {
    const { locks } = world()
    const look = locks.lockable(() => locks.inspect('report:1'), { key: 'report:1' })
    await expect(look()).resolves.toMatchObject({ leaseMs: 30_000 })
    locks.configure({ keys: { 'report:*': { lease: '10m' } } })
    await expect(look()).resolves.toMatchObject({ leaseMs: 600_000 })
    await locks.close()
  })

  it('whether the lease of the client is long enough for atLeast is known at the call', async () => {
    const { locks } = world()
    const call = locks.lockable(() => 'ran', { key: 'k', atLeast: '1m' })
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    locks.configure({ lease: '2m' })
    await expect(call()).resolves.toBe('ran')
    await locks.close()
  })

  it('rejects with CLOSED after its client was closed', async () => {
    const { locks } = world()
    const call = locks.lockable(() => 1, { key: 'k', onFail: 'null' })
    await locks.close()
    await expect(call()).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

describe('bad input is refused when it is declared', () => {
  class Shop {
    tenant = 't1'
  }
  const { locks } = world()
  const fine = async (): Promise<void> => {}
  it.each<[string, unknown, unknown, RegExp]>([
    ['no function', 'text', { key: 'k' }, /give a function to run under the lock/],
    ['a generator', function* many() {}, { key: 'k' }, /"many" is a generator/],
    ['an async generator', async function* many() {}, { key: 'k' }, /"many" is a generator/],
    ['a class', Shop, { key: 'k' }, /"Shop" is a class/],
    [
      'a class without a name',
      (() =>
        class {
          tenant = 1
        })(),
      { key: 'k' },
      /"" is a class/,
    ],
    ['no options', fine, undefined, /lockable: options must be an object/],
    ['no key', fine, {}, /key: give a template such as .* or a function of the arguments/],
    ['a list as key', fine, { key: ['a'] }, /key: give a template/],
    ['a malformed template', fine, { key: '{sku}' }, /is no placeholder/],
    [
      'an unknown option',
      fine,
      { key: 'k', timeout: 1 },
      /unknown option 'timeout'; known are key, onFail, on, /,
    ],
    ['a bad wait', fine, { key: 'k', wait: 'long' }, /wait: 'long' is not a duration/],
    ['a bad lease', fine, { key: 'k', lease: 1 }, /lease: 1 is too short/],
    ['a bad signal', fine, { key: 'k', signal: {} }, /signal: give an AbortSignal/],
    ['a context that JSON cannot carry', fine, { key: 'k', context: 1n }, /context: give a string/],
    ['a lease too short for atLeast', fine, { key: 'k', lease: '1s', atLeast: '2s' }, /atLeast/],
    ['an unknown strategy', fine, { key: 'k', onFail: 'ignore' }, /onFail: give 'throw', 'null', \{ retry/],
    ['null as a value', fine, { key: 'k', onFail: null }, /onFail: give 'throw', 'null'/],
    ['no tries', fine, { key: 'k', onFail: { retry: 0 } }, /retry must be a whole number from 1 on/],
    ['half a try', fine, { key: 'k', onFail: { retry: 1.5 } }, /retry must be a whole number/],
    ['endless tries', fine, { key: 'k', onFail: { retry: Infinity } }, /retry must be a whole number/],
    ['no pause', fine, { key: 'k', onFail: { retry: 1, backoff: 0 } }, /onFail\.backoff: 0 is too short/],
    [
      'no limit',
      fine,
      { key: 'k', onFail: { retry: 1, limit: Infinity } },
      /onFail\.limit: Infinity is too long/,
    ],
    ['an unknown word', fine, { key: 'k', onFail: { retry: 1, max: 2 } }, /onFail: unknown option 'max'/],
    [
      'a fallback that is a value',
      fine,
      { key: 'k', onFail: { fallback: 0 } },
      /fallback must be a function/,
    ],
    ['both', fine, { key: 'k', onFail: { fallback: fine, retry: 1 } }, /onFail: give retry or fallback/],
    ['on without onFail', fine, { key: 'k', on: ['contention'] }, /on: .* give onFail too/],
    ['an empty on', fine, { key: 'k', onFail: 'null', on: [] }, /on: give a list of 'contention'/],
    ['an unknown cause', fine, { key: 'k', onFail: 'null', on: ['lost'] }, /on: give a list/],
    [
      'a cause that every object has',
      fine,
      { key: 'k', onFail: 'null', on: ['toString'] },
      /on: give a list/,
    ],
  ])('%s', (_what, fn, options, says) => {
    const declare = (): unknown => locks.lockable(fn as () => void, options as { key: string })
    expect(declare).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(says) }),
    )
  })
})

describe('bad keys are refused at the call, before anything is asked', () => {
  const rejected = (): Promise<never> => Promise.reject(new Error('nobody waits for me'))
  it.each<[string, () => unknown, RegExp]>([
    ['nothing', () => undefined, /must be a string, not undefined/],
    ['a number', () => 7, /must be a string, not number/],
    ['an empty string', () => '', /must not be empty/],
    ['an empty list', () => [], /at least one lock key/],
    ['a list with something else', () => ['a', null], /must be a string, not null/],
    ['a promise, even one that rejects', rejected, /key: the function gave a promise/],
    ['10 MB', () => 'x'.repeat(10_000_000), /has 10000000 bytes/],
  ])('%s', async (_what, key, says) => {
    const { store, locks } = world({ keys: { 'slow:*': { wait: '1m' } } })
    for (const onFail of ['null', { retry: 2 }] as const) {
      const call = locks.lockable(() => 1, { key: key as () => string, onFail })
      const error = (await call().catch((thrown: unknown) => thrown)) as LockError
      expect(error).toMatchObject({ code: 'INVALID_LOCK_KEY', message: expect.stringMatching(says) })
      expect(error.message.length).toBeLessThan(200)
    }
    expect(store.calls).toEqual([])
    await locks.close()
  })

  it('an error of the key function is rejected with as it is', async () => {
    const { locks } = world()
    const call = locks.lockable(() => 1, {
      key: () => {
        throw new RangeError('mine')
      },
      onFail: { fallback: () => 'never' },
    })
    await expect(call()).rejects.toThrow(new RangeError('mine'))
    await locks.close()
  })

  it('a context or a signal that is a promise is refused', async () => {
    const { locks } = world()
    for (const option of ['context', 'signal'] as const) {
      const options = { key: 'k', [option]: rejected }
      await expect(locks.lockable(() => 1, options)()).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(`${option}: the function gave a promise`),
      })
    }
    await locks.close()
  })
})
