import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { TrialStore } from './support/trial-store.ts'
import { gate, track, world } from './support/world.ts'

describe('G12 nothing left', () => {
  it('G12 close releases leases, turns waiters away, and leaves no timer and no key', async () => {
    const { time, store, locks, other } = world()
    const two = other()
    const theirs = await two.acquire('theirs')
    const lease = await locks.acquire('a')
    const behind = track(locks.acquire('a'))
    const elsewhere = track(locks.acquire('theirs', { wait: Infinity }))
    await time.settle()
    await locks.close()
    expect(behind.error).toMatchObject({ code: 'CLOSED' })
    expect(elsewhere.error).toMatchObject({ code: 'CLOSED' })
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'CLOSED' })
    expect(await store.heldKeys()).toEqual(['theirs'])
    await theirs.release()
    await two.close()
    expect(time.timers).toBe(0)
    expect(store.count('close')).toBe(1)
  })

  it('G12 use after close is CLOSED; closing twice is closing once', async () => {
    const { store, locks } = world()
    await Promise.all([locks.close(), locks.close()])
    await locks[Symbol.asyncDispose]()
    expect(store.count('close')).toBe(1)
    for (const call of [
      () => locks.acquire('k'),
      () => locks.tryAcquire('k'),
      () => locks.using('k', () => 1),
      () => locks.list(),
      () => locks.inspect('k'),
      () => locks.forceRelease('k'),
      async () => locks.on('lost', () => {}),
      async () => locks.configure({ wait: 1 }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'CLOSED',
        message: expect.stringContaining('createLocks'),
      })
    }
  })

  it('a body of using is told to stop, finishes under its lease, and is not called lost', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const body = gate()
    const section = track(
      locks.using('k', async (lease) => {
        await body.promise
        return [lease.signal.aborted, lease.held]
      }),
    )
    await time.settle()
    const closing = track(locks.close())
    await time.advance(5_000)
    expect(closing.settled).toBe(false)
    expect(await store.heldKeys()).toEqual(['k'])
    body.open()
    await time.settle()
    expect(section.value).toEqual([true, true])
    expect(closing.settled).toBe(true)
    expect(await store.heldKeys()).toEqual([])
    expect(time.timers).toBe(0)
  })

  it('a body that ignores the signal keeps close waiting for its lease, and no longer', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const section = track(locks.using('k', () => new Promise(() => {})))
    await time.settle()
    const closing = track(locks.close())
    await time.advance(9_499)
    expect(closing.settled).toBe(false)
    await time.advance(501)
    expect(closing.settled).toBe(true)
    expect(section.settled).toBe(false)
    expect(await store.heldKeys()).toEqual([])
    expect(time.timers).toBe(0)
  })

  it('a lease granted in the same tick as close never starts its body', async () => {
    const { locks } = world()
    let ran = false
    const section = track(locks.using('k', () => (ran = true)))
    const closing = locks.close()
    await closing
    expect(section.error).toMatchObject({ code: 'CLOSED' })
    expect(ran).toBe(false)
  })

  it('nor does one granted just before close, although its caller has not come to run yet', async () => {
    const { locks } = world()
    let ran = false
    locks.on('granted', () => void locks.close())
    const section = track(locks.using('k', () => (ran = true)))
    await locks.close()
    expect(section.error).toMatchObject({ code: 'CLOSED' })
    expect(ran).toBe(false)
  })

  it('closing is safe against what its own listeners do', async () => {
    const { time, locks } = world()
    const seen: unknown[] = []
    const lease = await locks.acquire('k')
    lease.signal.addEventListener('abort', () => {
      seen.push(track(locks.acquire('other')), track(locks.close()))
    })
    await locks.close()
    await time.settle()
    expect(seen).toMatchObject([{ error: { code: 'CLOSED' } }, { settled: true }])
    expect(time.timers).toBe(0)
  })

  it('a call caught by close ends with CLOSED, and is no incident of the store', async () => {
    const warnings: string[] = []
    const { time, store, locks } = world({ logger: { warn: (line) => warnings.push(line) } })
    await locks.using('k', () => {})
    store.mood.list = new Promise<void>((_, reject) =>
      time.setTimer(100, () => reject(new Error('connection ended'))),
    )
    const listing = track(locks.list())
    await time.settle()
    await locks.close()
    await time.advance(100)
    expect(listing.error).toMatchObject({ code: 'CLOSED' })
    expect(warnings).toEqual([])
  })

  it('close is bounded although the store hangs', async () => {
    const { time, store, locks } = world({ callTimeout: '3s' })
    await locks.acquire('held')
    Object.assign(store.mood, { acquire: 'hang', release: 'hang', close: 'hang' })
    void track(locks.acquire('asked'))
    await time.settle()
    const closing = track(locks.close())
    await time.advance(12_000)
    expect(closing.settled).toBe(true)
    expect(time.timers).toBe(0)
  })

  it('two clients on one store object: the last one closes it', async () => {
    const { time, store, locks } = world()
    const two = createLocks(store, { environment: time, logger: null })
    await locks.close()
    expect(store.count('close')).toBe(0)
    await expect(two.using('k', () => 1)).resolves.toBe(1)
    await two.close()
    expect(store.count('close')).toBe(1)
  })

  it('a store that was never used is closed without being opened', async () => {
    const { time } = world()
    const store = new TrialStore(time)
    await createLocks(store, { environment: time }).close()
    expect(store.calls.map(({ step }) => step)).toEqual(['close'])
  })

  it('10,000 keys one after the other leave no line, timer or entry', async () => {
    const { time, store, locks } = world()
    for (let i = 0; i < 10_000; i += 1) await locks.using(`k${i}`, () => {})
    expect(locks.stats()).toMatchObject({ held: 0, waiting: 0, granted: 10_000 })
    expect(await store.heldKeys()).toEqual([])
    // One for renewals and one for deadlines, waiting to find nothing due.
    expect(time.timers).toBeLessThanOrEqual(2)
    await locks.close()
    expect(time.timers).toBe(0)
  })
})
