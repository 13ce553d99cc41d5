import { describe, expect, it } from 'vitest'
import { currentLease } from '../../src/section.ts'
import type { Watch } from '../../src/store.ts'
import { gate, track, world } from './support/world.ts'

describe('G10 re-entry', () => {
  it('G10 the same flow enters again at once, with no call of the store and the same token', async () => {
    const { store, locks } = world()
    await locks.using('k', async (outer) => {
      const calls = store.calls.length
      await locks.using('k', async (inner) => {
        expect(inner.token).toBe(outer.token)
        await locks.using('k', (innermost) => expect(innermost.token).toBe(outer.token))
      })
      const lease = await locks.acquire('k')
      expect(lease.token).toBe(outer.token)
      await expect(lease.release()).resolves.toBe(true)
      expect(await locks.tryAcquire('k')).not.toBeNull()
      expect(outer.held).toBe(true)
      expect(store.calls.length).toBe(calls)
    })
    expect(store.count('release')).toBe(1)
    expect(locks.stats()).toMatchObject({ reentered: 4, requests: 5, granted: 5 })
    await locks.close()
  })

  it('G10 siblings exclude each other, in order', async () => {
    const { locks } = world()
    const log: string[] = []
    await locks.using('k', () =>
      Promise.all(
        ['a', 'b', 'c'].map((name) =>
          locks.using('k', async () => {
            log.push(`${name} in`)
            // Entering again from inside a sibling is re-entry, not a third sibling.
            await locks.using('k', () => Promise.resolve())
            await new Promise((resolve) => setImmediate(resolve))
            log.push(`${name} out`)
          }),
        ),
      ),
    )
    expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
    await locks.close()
  })

  it('G10 a sibling gives up after its wait or at its signal, and tryAcquire at once', async () => {
    const { time, locks } = world()
    const busy = gate()
    await locks.using('k', async () => {
      const first = locks.using('k', () => busy.promise)
      const stop = new AbortController()
      const second = track(locks.acquire('k', { wait: '1s' }))
      const third = track(locks.acquire('k', { signal: stop.signal, wait: Infinity }))
      expect(await locks.tryAcquire('k')).toBeNull()
      await time.advance(1_000)
      expect(second.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
      stop.abort()
      await time.settle()
      expect(third.error).toMatchObject({ code: 'LOCK_ABORTED' })
      busy.open()
      await first
    })
    await locks.close()
  })

  it('G10 with reentrant: false it is DEADLOCK instead of waiting for itself', async () => {
    const { locks } = world()
    await locks.using('k', async () => {
      await expect(locks.using('k', { reentrant: false }, () => 1)).rejects.toMatchObject({
        code: 'DEADLOCK',
        key: 'k',
      })
      await expect(locks.acquire('k', { reentrant: false })).rejects.toMatchObject({ code: 'DEADLOCK' })
      await expect(locks.using('other', { reentrant: false }, () => 1)).resolves.toBe(1)
    })
    await expect(locks.using('k', { reentrant: false }, () => 2)).resolves.toBe(2)
    await locks.close()
  })

  it('another client is another holder, even in the same flow', async () => {
    const { locks, other } = world()
    const two = other()
    await locks.using('k', async () => {
      expect(await two.tryAcquire('k')).toBeNull()
    })
    await locks.close()
    await two.close()
  })

  it('G10 foreign code that core calls from inside a section is not inside it', async () => {
    const { time, locks } = world()
    const entered: string[] = []
    const enter = (who: string): void => {
      void track(locks.using('k', { wait: '1m' }, () => entered.push(who)))
    }
    const logger = { debug: (line: string) => line.includes('released "log"') && enter('logger') }
    const logging = world({ logger })
    locks.on('granted', ({ key }) => key === 'inner' && enter('listener'))
    await locks.using('k', async () => {
      await locks.using('inner', () => {})
      await time.settle()
      expect(entered).toEqual([])
    })
    await time.settle()
    expect(entered).toEqual(['listener'])
    await logging.locks.close()
    await locks.close()
  })

  it('G10 nor is the watch of a store, which lives for longer', async () => {
    const { store, locks, other } = world()
    const { inner } = store
    const seen: unknown[] = []
    const watch = inner.watch!.bind(inner)
    inner.watch = (onFreed): Watch => {
      seen.push(currentLease())
      const made = watch(onFreed)
      return {
        add: (key) => {
          seen.push(currentLease())
          made.add(key)
        },
        delete: (key) => made.delete(key),
        close: () => made.close(),
      }
    }
    const held = await other().acquire('b')
    await locks.using('a', async () => {
      const waiting = locks.acquire('b')
      await held.release()
      await (await waiting).release()
    })
    expect(seen.length).toBeGreaterThan(1)
    expect(seen.every((lease) => lease === null)).toBe(true)
    await locks.close()
  })

  it('G10 nor is a listener of a signal, whichever flow started the timer', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    const seen: unknown[] = []
    store.mood.renew = 'fail'
    const section = locks.using('k', { lease: '1m' }, async () => {
      const lost = await locks.acquire('lost')
      lost.signal.addEventListener('abort', () => seen.push(track(locks.tryAcquire('k'))))
      await time.advance(1_000)
      await time.settle()
    })
    await section
    expect(seen).toMatchObject([{ settled: true, value: null }])
    await locks.close()
  })

  it('a lease that outlives its section is dead, and a call from there queues like any other', async () => {
    const { time, locks } = world()
    const later = gate()
    let escaped!: Promise<string>
    const inner = await locks.using('k', async () => {
      escaped = later.promise.then(() => locks.using('k', async (lease) => `token ${lease.token}`))
      return locks.acquire('k')
    })
    expect(inner.held).toBe(false)
    expect(inner.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
    await expect(inner.release()).resolves.toBe(false)
    const holder = await locks.acquire('k')
    const outcome = track(escaped)
    later.open()
    await time.settle()
    expect(outcome.settled).toBe(false)
    await holder.release()
    await time.settle()
    expect(outcome.value).toBe(`token ${holder.token + 1n}`)
    await locks.close()
  })

  it('a sibling still queued when the section ends is told so', async () => {
    const { time, locks } = world()
    const busy = gate()
    const section = locks.using('k', async () => {
      void track(locks.using('k', () => busy.promise))
      return track(locks.using('k', () => 'never'))
    })
    const queued = await section
    await time.settle()
    expect(queued.error).toMatchObject({ code: 'LOCK_LOST' })
    busy.open()
    await locks.close()
  })

  it('G10 a loss tells all levels, and inside a lost section nothing enters', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    store.mood.renew = 'fail'
    const outer = locks.using('k', async (first) => {
      const inner = locks.using('k', async (second) => {
        const third = await locks.acquire('k')
        await time.advance(1_000)
        for (const lease of [first, second, third]) {
          expect(lease.held).toBe(false)
          expect(lease.signal.aborted).toBe(true)
        }
        await expect(locks.acquire('k')).rejects.toMatchObject({ code: 'LOCK_LOST' })
      })
      await expect(inner).rejects.toMatchObject({ code: 'LOCK_LOST' })
    })
    await expect(outer).rejects.toMatchObject({ code: 'LOCK_LOST' })
    await locks.close()
  })
})
