import { describe, expect, it } from 'vitest'
import type { OnceOptions } from '../../src/index.ts'
import { gate, track, world } from './support/world.ts'

const nothing = (): void => {}
const never = (): Promise<boolean> => new Promise(nothing)

describe('a done() that fails', () => {
  it.each([
    [
      'throws',
      () => () => {
        throw new Error('no table')
      },
    ],
    ['rejects', () => () => Promise.reject(new Error('no table'))],
  ])('%s: the error goes to all who wait for its answer, before the lock', async (_how, make) => {
    const { time, store, locks } = world()
    let asked = 0
    const fail = make()
    const done = (): never | Promise<never> => {
      asked += 1
      return fail()
    }
    const calls = Array.from({ length: 3 }, () => track(locks.once('k', { done, run: nothing })))
    await time.settle()
    for (const { error } of calls) expect(error).toMatchObject({ message: 'no table' })
    expect(asked).toBe(1)
    expect(store.calls).toEqual([])
    expect(time.timers).toBe(0)
    await locks.close()
  })

  it('under the lock: the error goes to the caller, and the lock is freed', async () => {
    const { time, store, locks } = world()
    let asked = 0
    const done = (): boolean => {
      asked += 1
      if (asked === 2) throw new Error('gone')
      return false
    }
    await expect(locks.once('k', { done, run: nothing })).rejects.toThrow('gone')
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('in the queue: the error goes to the caller, and nothing is left in the queue', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    let broken = false
    const done = (): boolean => {
      if (broken) throw new Error('gone')
      return false
    }
    const call = track(locks.once('k', { done, run: nothing }))
    await time.advance(1000)
    broken = true
    await time.advance(5000)
    expect(call.error).toMatchObject({ message: 'gone' })
    expect(locks.stats().waiting).toBe(0)
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it.each([
    ['undefined', undefined, /not undefined/],
    ['null', null, /not null/],
    ['rows', [], /not an array/],
    ['a count', 1, /not number/],
    ['a document', Promise.resolve({}), /not object/],
  ])('gives %s instead of true or false: INVALID_OPTION', async (_what, answer, says) => {
    const { store, locks } = world()
    const done = (() => answer) as unknown as OnceOptions['done']
    await expect(locks.once('k', { done, run: nothing })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(says),
    })
    expect(store.calls).toEqual([])
    await locks.close()
  })
})

describe('a done() that hangs', () => {
  it('before the lock: is waited for no longer than the wait', async () => {
    const { time, store, locks } = world()
    const call = track(locks.once('k', { done: never, run: nothing, wait: '2s' }))
    await time.advance(1999)
    expect(call.settled).toBe(false)
    await time.advance(1)
    expect(call.error).toMatchObject({
      code: 'LOCK_ACQUIRE_TIMEOUT',
      key: 'k',
      message: expect.stringMatching(/done\(\) of "k" gave no answer within 2000 ms/),
    })
    expect(store.calls).toEqual([])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is given the time of a lease with a wait of 0', async () => {
    const { time, locks } = world({ lease: '3s' })
    const call = track(locks.once('k', { done: never, run: nothing, wait: 0 }))
    await time.advance(2999)
    expect(call.settled).toBe(false)
    await time.advance(1)
    expect(call.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await locks.close()
  })

  it('in the queue: does not make the wait longer', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    let asked = 0
    const done = (): Promise<boolean> | boolean => ((asked += 1) === 1 ? false : never())
    const call = track(locks.once('k', { done, run: nothing, wait: '2s' }))
    await time.advance(2000)
    expect(call.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    expect(asked).toBe(2)
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('under the lock: keeps it no longer than a lease', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    let asked = 0
    const done = (): Promise<boolean> | boolean => ((asked += 1) === 1 ? false : never())
    const call = track(locks.once('k', { done, run: nothing }))
    await time.advance(2999)
    expect(await store.heldKeys()).toEqual(['k'])
    await time.advance(1)
    expect(call.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('holds the others up for a second, and is done when they are', async () => {
    const { time, locks } = world()
    const stuck = track(locks.once('k', { done: never, run: nothing, wait: '20s' }))
    let runs = 0
    const other = track(locks.once('k', { done: () => runs > 0, run: () => void (runs += 1), wait: '2s' }))
    await time.advance(999)
    expect(other.settled).toBe(false)
    await time.advance(1)
    expect([other.value, runs]).toEqual(['ran', 1])
    expect(stuck.value).toBe('done')
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('does not hold up one that has the lock', async () => {
    const { time, locks, other } = world()
    const two = other()
    const lease = await two.acquire('k')
    let runs = 0
    const next = track(locks.once('k', { done: () => runs > 0, run: () => void (runs += 1) }))
    await time.advance(10)
    const stuck = track(locks.once('k', { done: never, run: nothing }))
    await time.settle()
    await lease.release()
    await time.settle()
    expect([next.value, runs, stuck.value]).toEqual(['ran', 1, 'done'])
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('does not stop the looks of the others while they wait for the lock', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    let [asked, marked] = [0, false]
    const done = (): Promise<boolean> | boolean => ((asked += 1) === 1 ? false : never())
    const stuck = track(locks.once('k', { done, run: nothing }))
    const others = [1, 2].map(() => track(locks.once('k', { done: () => marked, run: nothing })))
    await time.advance(1000)
    expect(asked).toBe(2)
    marked = true
    await time.advance(2000)
    for (const { value } of [stuck, ...others]) expect(value).toBe('done')
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('is not asked by all who wait: each second or more, one of them', async () => {
    const { time, locks } = world()
    let asked = 0
    const done = (): Promise<boolean> => {
      asked += 1
      return never()
    }
    const calls = Array.from({ length: 50 }, () =>
      track(locks.once('k', { done, run: nothing, wait: '20s' })),
    )
    const counts: number[] = []
    for (const ms of [999, 1, 1999, 1, 3999, 1, 4999, 1]) {
      await time.advance(ms)
      counts.push(asked)
    }
    expect(counts).toEqual([1, 2, 2, 3, 3, 4, 4, 5])
    await time.advance(8000)
    expect(asked).toBe(6)
    expect(calls.map(({ error }) => (error as Error).message)).toEqual([
      ...[20, 19, 17, 13, 8, 3].map((s) => `once: done() of "k" gave no answer within ${s * 1000} ms`),
      ...Array<string>(44).fill(
        'once: done() of "k" was not called within 20000 ms, as that of another caller gave no answer',
      ),
    ])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('fails for its own caller only, if others have asked since', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    const late = gate()
    const done = (): Promise<boolean> => late.promise.then(() => Promise.reject(new Error('late')))
    const slow = track(locks.once('k', { done, run: nothing }))
    const others = [1, 2].map(() => track(locks.once('k', { done: () => false, run: nothing })))
    await time.advance(1000)
    late.open()
    await time.settle()
    expect(slow.error).toMatchObject({ message: 'late' })
    expect(others.map(({ settled }) => settled)).toEqual([false, false])
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('does not stop the others if its caller has given up', async () => {
    const { time, locks } = world()
    const stuck = track(locks.once('k', { done: never, run: nothing, wait: '500ms' }))
    let runs = 0
    const other = track(locks.once('k', { done: () => runs > 0, run: () => void (runs += 1) }))
    await time.advance(500)
    expect(stuck.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    // The question is under way, though nobody wants its answer any more.
    await time.advance(500)
    expect([other.value, runs]).toEqual(['ran', 1])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('lets the next one ask when its answer comes, though its caller has given up', async () => {
    const { time, locks } = world()
    const late = gate()
    const done = (): Promise<boolean> => late.promise.then(() => false)
    void track(locks.once('k', { done, run: nothing, wait: '500ms' }))
    const other = track(locks.once('k', { done: () => true, run: nothing }))
    await time.advance(600)
    expect(other.settled).toBe(false)
    late.open()
    await time.settle()
    expect(other.value).toBe('done')
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('does not take the lock at the word of another', async () => {
    const { time, locks } = world()
    const stuck = track(locks.once('k', { done: never, run: nothing, wait: '20s' }))
    let asked = 0
    const other = track(
      locks.once('k', {
        done: () => (asked += 1) < 0,
        run: () => {
          throw new Error('half-way')
        },
      }),
    )
    await time.advance(5000)
    expect(other.error).toMatchObject({ message: 'half-way' })
    expect(asked).toBe(2)
    expect(locks.stats()).toMatchObject({ waiting: 0, held: 0 })
    await time.advance(15_000)
    expect(stuck.error).toMatchObject({ message: /gave no answer within 20000 ms/ })
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is for all, however late, if it is true', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    const late = gate()
    const slow = track(locks.once('k', { done: () => late.promise.then(() => true), run: nothing }))
    const next = track(locks.once('k', { done: () => false, run: nothing }))
    await time.advance(1000)
    late.open()
    await time.settle()
    expect([slow.value, next.value]).toEqual(['done', 'done'])
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('is for all if it is true, though its caller has given up', async () => {
    const { time, locks } = world()
    const stop = new AbortController()
    const late = gate()
    const done = (): Promise<boolean> => late.promise.then(() => true)
    const first = track(locks.once('k', { done, run: nothing, signal: stop.signal }))
    let asked = 0
    const other = track(locks.once('k', { done: () => (asked += 1) < 0, run: nothing }))
    await time.advance(10)
    stop.abort()
    await time.advance(600)
    late.open()
    await time.settle()
    expect([first.error, other.value, asked]).toEqual([expect.anything(), 'done', 0])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('may still fail when nobody waits for it any more', async () => {
    const { time, locks } = world()
    const late = gate()
    const done = (): Promise<boolean> => late.promise.then(() => Promise.reject(new Error('late')))
    const call = track(locks.once('k', { done, run: nothing, wait: '1s' }))
    await time.advance(1000)
    late.open()
    await time.settle()
    expect(call.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await locks.close()
  })
})

describe('close()', () => {
  it('G12 turns away who looks and who looks under the lock, and waits for who runs', async () => {
    const { time, store, locks } = world()
    const busy = gate()
    let asked = 0
    const second = (): Promise<boolean> | boolean => ((asked += 1) === 1 ? false : never())
    let told: unknown
    let late = 0
    const looking = track(locks.once('a', { done: never, run: nothing }))
    const holding = track(locks.once('b', { done: second, run: nothing }))
    const running = track(
      locks.once('c', {
        done: () => (late += 1) < 0,
        run: async (lease) => {
          lease.signal.addEventListener('abort', () => (told = lease.signal.reason))
          await busy.promise
        },
      }),
    )
    await time.settle()
    expect((await store.heldKeys()).sort()).toEqual(['b', 'c'])
    const closed = track(locks.close())
    await time.settle()
    expect(looking.error).toMatchObject({ code: 'CLOSED' })
    expect(holding.error).toMatchObject({ code: 'CLOSED' })
    expect(told).toMatchObject({ code: 'CLOSED' })
    expect([running.settled, closed.settled]).toEqual([false, false])
    busy.open()
    await time.settle()
    expect([running.value, closed.settled]).toEqual(['ran', true])
    expect(late).toBe(2)
    expect(await store.heldKeys()).toEqual([])
    expect(time.timers).toBe(0)
    await expect(locks.once('d', { done: () => true, run: nothing })).rejects.toMatchObject({
      code: 'CLOSED',
    })
  })
})
