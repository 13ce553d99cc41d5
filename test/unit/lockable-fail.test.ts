import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { LockError } from '../../src/index.ts'
import { gate, track, type World, world } from './support/world.ts'

type Trouble = readonly [
  name: 'contention' | 'unavailable',
  code: string,
  start: (stage: World) => Promise<void>,
]

const troubles: readonly Trouble[] = [
  [
    'contention',
    'LOCK_ACQUIRE_TIMEOUT',
    async ({ other }) => void (await other({ lease: '1h' }).acquire('k')),
  ],
  [
    'unavailable',
    'STORE_UNAVAILABLE',
    async ({ store }) => {
      store.mood.acquire = 'fail'
    },
  ],
]

describe.each(troubles)('on %s', (cause, code, start) => {
  const other = cause === 'contention' ? ('unavailable' as const) : ('contention' as const)

  it("'throw' rejects", async () => {
    const stage = world({ wait: '1s' })
    await start(stage)
    const run = vi.fn<() => void>()
    const call = track(stage.locks.lockable(run, { key: 'k' })())
    await stage.time.advance(1_100)
    expect(call.error).toMatchObject({ code })
    expect(run).not.toHaveBeenCalled()
    await stage.locks.close()
  })

  it("'null' gives null", async () => {
    const stage = world({ wait: '1s' })
    await start(stage)
    const run = vi.fn<() => void>()
    const call = track(stage.locks.lockable(run, { key: 'k', onFail: 'null' })())
    await stage.time.advance(1_100)
    expect(call).toMatchObject({ settled: true, value: null })
    expect(run).not.toHaveBeenCalled()
    await stage.locks.close()
  })

  it('a fallback gets this, the error and the arguments, and its result is the result', async () => {
    const stage = world({ wait: '1s' })
    await start(stage)
    const shop = {
      name: 'shop',
      take: stage.locks.lockable(
        function take(this: { name: string }, _sku: string, _count?: number): string {
          return 'not this'
        },
        {
          key: 'k',
          onFail: {
            async fallback(error, ...args) {
              return { name: this.name, code: error.code, args }
            },
          },
        },
      ),
    }
    const call = track(shop.take('a'))
    await stage.time.advance(1_100)
    expect(call.value).toEqual({ name: 'shop', code, args: ['a'] })
    await stage.locks.close()
  })

  it('an error of the fallback is the error of the call', async () => {
    const stage = world({ wait: '1s' })
    await start(stage)
    const fallback = (): never => {
      throw new RangeError('mine')
    }
    const call = track(stage.locks.lockable(() => 1, { key: 'k', onFail: { fallback } })())
    await stage.time.advance(1_100)
    expect(call.error).toEqual(new RangeError('mine'))
    await stage.locks.close()
  })

  it('retry tries again after pauses that grow, and then rejects with the last error', async () => {
    const stage = world()
    await start(stage)
    const { locks, store, time } = stage
    const call = track(locks.lockable(() => 1, { key: 'k', wait: 0, onFail: { retry: 3, backoff: '1s' } })())
    const tries: Record<number, number> = {}
    for (let ms = 0; ms <= 6_000; ms += 250) {
      await time.settle()
      tries[ms] = store.count('acquire')
      await time.advance(250)
    }
    // Chance is 0.5: pauses of 0.75, 1.5 and 3 s.
    expect([500, 750, 2000, 2250, 5000, 5250].map((ms) => tries[ms])).toEqual([1, 2, 2, 3, 3, 4])
    expect(store.count('acquire')).toBe(4)
    expect(call.error).toMatchObject({
      code,
      message: expect.stringMatching(/; gave up after 4 tries in 5250 ms$/),
      cause: expect.objectContaining({ code }),
    })
    await locks.close()
  })

  it('applies only to what on names', async () => {
    const stage = world({ wait: '1s' })
    await start(stage)
    const { locks, store, time } = stage
    const fallback = (): string => 'instead'
    const calls = [
      locks.lockable(() => 1, { key: 'k', onFail: 'null', on: [other] }),
      locks.lockable(() => 1, { key: 'k', onFail: { fallback }, on: [other] }),
      locks.lockable(() => 1, { key: 'k', onFail: { retry: 5 }, on: [other] }),
      locks.lockable(() => 1, { key: 'k', onFail: { fallback }, on: [cause] }),
    ].map((call) => track<unknown>(call()))
    await time.advance(1_100)
    expect(calls.map(({ error, value }) => (error as LockError | undefined)?.code ?? value)).toEqual([
      code,
      code,
      code,
      'instead',
    ])
    expect(store.calls.length).toBeGreaterThan(0)
    await locks.close()
  })
})

describe('never on an error of the body', () => {
  const strategies = ['null', { fallback: () => 'instead' }, { retry: 5 }] as const

  it.each(['LOCK_ACQUIRE_TIMEOUT', 'STORE_UNAVAILABLE'] as const)('also if that is %s', async (code) => {
    const { locks } = world()
    for (const onFail of strategies) {
      const error = new LockError(code, 'of another lock')
      const run = vi.fn<() => Promise<never>>(async () => Promise.reject(error))
      const call = locks.lockable(run, { key: 'k', onFail: onFail as 'null' })
      await expect(call()).rejects.toBe(error)
      expect(run).toHaveBeenCalledTimes(1)
    }
    await locks.close()
  })

  it('also if the body throws at once', async () => {
    const { locks } = world()
    const error = new LockError('LOCK_ACQUIRE_TIMEOUT', 'of another lock')
    const run = (): never => {
      throw error
    }
    await expect(locks.lockable(run, { key: 'k', onFail: 'null' })()).rejects.toBe(error)
    await locks.close()
  })

  it('nor on the loss of the lock, a deadlock or an abort', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    store.mood.renew = 'fail'
    for (const onFail of strategies as readonly unknown[] as readonly ['null']) {
      const lost = locks.lockable(() => time.advance(2_000), { key: 'a', onFail })
      await expect(lost()).rejects.toMatchObject({ code: 'LOCK_LOST' })
      const again = locks.lockable(() => 1, { key: 'b', reentrant: false, onFail })
      await expect(locks.using('b', () => again())).rejects.toMatchObject({ code: 'DEADLOCK' })
      const stopped = locks.lockable(() => 1, { key: 'c', signal: AbortSignal.abort(), onFail })
      await expect(stopped()).rejects.toMatchObject({ code: 'LOCK_ABORTED' })
    }
    await locks.close()
  })
})

describe('retry', () => {
  it('goes on with the result once the store is back', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const run = vi.fn<() => string>(() => 'done')
    const call = track(locks.lockable(run, { key: 'k', wait: '1s', onFail: { retry: 3 } })())
    await time.advance(1_500)
    expect(call.settled).toBe(false)
    store.mood.acquire = 'work'
    await time.advance(1_500)
    expect(call.value).toBe('done')
    expect(run).toHaveBeenCalledTimes(1)
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('goes on with the result once the other is done', async () => {
    const { time, locks, other } = world()
    const holder = other()
    const lease = await holder.acquire('k')
    const call = track(locks.lockable(() => 'done', { key: 'k', wait: 0, onFail: { retry: 3 } })())
    await time.advance(50)
    await lease.release()
    await time.advance(500)
    expect(call.value).toBe('done')
    await locks.close()
    await holder.close()
  })

  it.each([
    ['a call that waits long', Infinity, 10_000],
    ['many short calls', '1s', 10_000],
  ] as const)('ends at its limit: %s', async (_what, wait, limit) => {
    const { time, locks, other } = world()
    const holder = other({ lease: '1h' })
    await holder.acquire('k')
    const start = time.now()
    let ended = 0
    const call = track(locks.lockable(() => 1, { key: 'k', wait, onFail: { retry: 1000, limit } })())
    while (!call.settled) {
      await time.advance(10)
      ended = time.now() - start
    }
    expect(call.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    // It does not begin a pause that would end after the limit.
    expect(ended).toBeGreaterThan(limit / 2)
    expect(ended).toBeLessThanOrEqual(limit + 10)
    await locks.close()
    await holder.close()
    expect(time.timers).toBe(0)
  })

  it('each try waits as long as the client says for the key', async () => {
    const { time, locks, other } = world({ keys: { 'slow:*': { wait: '20s' } } })
    const holder = other({ lease: '1h' })
    await holder.acquire('slow:1')
    const call = track(locks.lockable(() => 1, { key: 'slow:1', onFail: { retry: 1 } })())
    await time.advance(39_000)
    expect(call.settled).toBe(false)
    await time.advance(2_000)
    expect(call.error).toMatchObject({
      message: expect.stringMatching(/gave up after 2 tries in 400\d\d ms/),
    })
    await locks.close()
    await holder.close()
  })

  it('is stopped by its signal in a pause, and leaves no timer and no listener', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const stop = new AbortController()
    await expect(locks.tryAcquire('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const { timers } = time
    const onFail = { retry: 3, backoff: '10s' } as const
    const call = track(locks.lockable(() => 1, { key: 'k', wait: 0, signal: stop.signal, onFail })())
    await time.advance(1_000)
    expect(call.settled).toBe(false)
    const asked = store.count('acquire')
    stop.abort(new Error('enough'))
    await time.settle()
    expect(call.error).toMatchObject({ code: 'LOCK_ABORTED', cause: { message: 'enough' } })
    expect(store.count('acquire')).toBe(asked)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    expect(time.timers).toBe(timers)
    await locks.close()
  })

  it('leaves no listener when a pause was over', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const { signal } = new AbortController()
    const call = track(locks.lockable(() => 1, { key: 'k', wait: 0, signal, onFail: { retry: 9 } })())
    await time.advance(100)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    store.mood.acquire = 'work'
    await time.advance(10_000)
    expect(call.value).toBe(1)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await locks.close()
  })

  it('is stopped when the client closes in a pause', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const onFail = { retry: 3, backoff: '10s' } as const
    const call = track(locks.lockable(() => 1, { key: 'k', wait: 0, onFail })())
    await time.advance(1_000)
    expect(call.settled).toBe(false)
    await locks.close()
    await time.settle()
    expect(call.error).toMatchObject({ code: 'CLOSED' })
    expect(time.timers).toBe(0)
  })

  it('a pause is never longer than 10 s', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const onFail = { retry: 30, limit: '10m' } as const
    const call = track(locks.lockable(() => 1, { key: 'k', wait: 0, onFail })())
    await time.advance(60_000)
    const asked = store.count('acquire')
    await time.advance(75_000)
    expect(store.count('acquire') - asked).toBe(10)
    await locks.close()
    expect(call.error).toMatchObject({ code: 'CLOSED' })
  })

  it('a body that has begun is not begun again', async () => {
    const { time, locks } = world({ lease: '1s' })
    const end = gate()
    const run = vi.fn<() => Promise<void>>(() => end.promise)
    const call = track(locks.lockable(run, { key: 'k', onFail: { retry: 5 } })())
    await time.advance(10_000)
    end.open()
    await time.settle()
    expect(call).toMatchObject({ settled: true })
    expect(run).toHaveBeenCalledTimes(1)
    await locks.close()
  })
})
