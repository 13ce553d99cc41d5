import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { gate, track, world } from './support/world.ts'

describe('listeners, loggers and drivers that do as they please', () => {
  it('a listener of granted that aborts the waiter takes nothing back from it', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const stop = new AbortController()
    locks.on('granted', () => stop.abort())
    const lease = await locks.acquire('k', { signal: stop.signal })
    expect(lease.held).toBe(true)
    expect(locks.stats().waiting).toBe(0)
    await lease.release()
    await time.advance(10)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('a listener of released that aborts the next in line leaves the others their turn', async () => {
    const { time, locks } = world()
    const stop = new AbortController()
    const first = await locks.acquire('k')
    const second = track(locks.acquire('k', { signal: stop.signal }))
    const third = track(locks.acquire('k'))
    locks.on('released', () => stop.abort())
    await first.release()
    await time.settle()
    await second.value?.release()
    await time.settle()
    expect(third.value?.held).toBe(true)
    await locks.close()
  })

  it('a listener of timeout that aborts everyone leaves nobody waiting for ever', async () => {
    const { time, locks } = world()
    const stop = new AbortController()
    await locks.acquire('k')
    locks.on('timeout', () => stop.abort())
    const second = track(locks.acquire('k', { wait: 100, signal: stop.signal }))
    const third = track(locks.acquire('k', { wait: Infinity, signal: stop.signal }))
    const fourth = track(locks.acquire('k', { wait: Infinity }))
    await time.advance(100)
    expect(second.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    expect(third.error).toMatchObject({ code: 'LOCK_ABORTED' })
    expect(locks.stats().waiting).toBe(1)
    await locks.close()
    await time.settle()
    expect(fourth.error).toMatchObject({ code: 'CLOSED' })
  })

  it('G10 a nested lease released in reply to its loss lets no sibling in', async () => {
    const { time, locks } = world()
    const outside = track(
      locks.using('k', async () => {
        const nested = await locks.acquire('k')
        nested.signal.addEventListener('abort', () => void nested.release())
        return [track(locks.acquire('k'))]
      }),
    )
    const next = track(locks.acquire('k'))
    await time.settle()
    expect(outside.value?.[0]?.error).toMatchObject({ code: 'LOCK_LOST' })
    expect(next.value?.held).toBe(true)
    await locks.close()
  })

  it('G7 whatever a driver throws, the call ends with it and the next one works', async () => {
    const { time, store, locks } = world({
      logger: { warn: (() => Promise.reject(new Error('disk full'))) as () => void },
    })
    const strange: unknown[] = [
      Object.create(null),
      Object.assign(new Error(), { message: undefined, code: 'X' }),
      undefined,
      'text',
      7n,
    ]
    for (const thrown of strange) {
      const acquire = store.inner.acquire
      store.inner.acquire = () => Promise.reject(thrown as Error)
      const trying = track(locks.tryAcquire('k'))
      await time.settle()
      expect(trying.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      store.inner.acquire = acquire
      const again = await locks.tryAcquire('k')
      await again?.release()
      await time.advance(20_000)
    }
    await locks.close()
  })

  it('a list, a record or a holder that is none is an error of the store', async () => {
    const { store, locks } = world()
    for (const nonsense of [undefined, null, {}, { locks: 5 }, { locks: [{}] }]) {
      store.inner.list = async () => nonsense as never
      await expect(locks.list()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(await locks.health()).toMatchObject({ ok: false })
    }
    store.inner.evict = async () => ({ key: 5 }) as never
    await expect(locks.forceRelease('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await locks.close()
  })

  it('G8 a store that answers each watch with word to ask again is not asked without end', async () => {
    const { time, store, locks, other } = world({ poll: { max: '500ms' } })
    const two = other()
    await two.acquire('k')
    store.inner.watch = (onFreed) => ({
      add: (key) => queueMicrotask(() => onFreed(key)),
      delete() {},
      close: async () => {},
    })
    const waiting = track(locks.acquire('k', { wait: '2s' }))
    await time.advance(2_000)
    expect(waiting.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    expect(store.count('acquire')).toBeLessThan(12)
    await locks.close()
    await two.close()
  })
})

describe('close and what is under way', () => {
  it('atLeast holds although the client is closed during the hold', async () => {
    const { time, store, locks, other } = world({ lease: '1m' })
    const two = other({ lease: '1m' })
    await locks.acquire('acquired', { atLeast: '50s' })
    const body = gate()
    const section = two.using('used', { atLeast: '50s' }, () => body.promise)
    await time.advance(1_000)
    await locks.close()
    const closing = two.close()
    body.open()
    await section
    await closing
    expect(await store.heldKeys()).toEqual(['acquired', 'used'])
    expect(time.timers).toBe(0)
  })

  it('extend is refused while closing, and one under way does not keep close waiting', async () => {
    const { time, locks } = world({ lease: '10s' })
    const codes: string[] = []
    const section = track(
      locks.using('k', async (lease) => {
        for (let i = 0; i < 100; i += 1) {
          await lease.extend('1h').catch((error: { code: string }) => codes.push(error.code))
          await new Promise<void>((resolve) => time.setTimer(3_000, resolve))
        }
      }),
    )
    await time.settle()
    const closing = track(locks.close())
    await time.advance(3_600_000)
    expect(closing.settled).toBe(true)
    expect(codes.slice(0, 2)).toEqual(['CLOSED', 'CLOSED'])
    expect(section.settled).toBe(true)
  })
})

describe('printing a client', () => {
  it('calls nothing of it, also where the printer looks for a method named inspect', async () => {
    const { locks } = world()
    expect(inspect(locks)).toBe("Locks { store: 'trial' }")
    expect(() => expect([locks]).toContain(5)).toThrow("Locks { store: 'trial' }")
    await locks.close()
  })
})
