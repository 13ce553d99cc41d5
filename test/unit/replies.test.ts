import { describe, expect, it } from 'vitest'
import { gate, track, world } from './support/world.ts'

describe('G5 idempotent: lost and late replies', () => {
  it('G5 an acquire whose reply was lost, and that gave up, is taken back', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    store.mood.acquire = 'lose reply'
    const lost = track(locks.acquire('k', { wait: '1s' }))
    await time.advance(1_000)
    expect(lost.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await time.advance(2_500)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('G5 a retry after a lost reply gets the grant that was made', async () => {
    const { time, store, locks } = world({ callTimeout: '500ms', lease: '30s' })
    store.mood.acquire = 'lose reply'
    const waiting = track(locks.acquire('k'))
    await time.advance(400)
    const [record] = (await store.inner.list({ limit: 1 })).locks
    store.mood.acquire = 'work'
    await time.advance(200)
    expect(waiting.value?.token).toBe(BigInt(record!.grant) * 1024n)
    await locks.close()
  })

  it('G5 an ask that reaches the store after its caller gave up is taken back', async () => {
    const { time, store, locks } = world({ callTimeout: '500ms', lease: '10s' })
    const slow = gate()
    store.mood.acquire = slow.promise
    const lost = track(locks.acquire('k', { wait: '1s' }))
    await time.advance(5_000)
    expect(lost.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    slow.open()
    await time.advance(100)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('G5 a late grant to an owner that holds the key by its retry takes nothing away', async () => {
    const { time, store, locks } = world({ callTimeout: '500ms', lease: '10s' })
    const slow = gate()
    store.mood.acquire = slow.promise
    const waiting = track(locks.acquire('k'))
    await time.advance(450)
    store.mood.acquire = 'work'
    await time.advance(100)
    const lease = waiting.value!
    slow.open()
    await time.advance(5_000)
    expect(lease.held).toBe(true)
    await expect(lease.release()).resolves.toBe(true)
    await locks.close()
  })

  it('G5 a stray ask that arrives after the release is taken back too', async () => {
    const { time, store, locks } = world({ callTimeout: '500ms', lease: '10s' })
    const slow = gate()
    store.mood.acquire = slow.promise
    const waiting = track(locks.acquire('k'))
    await time.advance(450)
    store.mood.acquire = 'work'
    await time.advance(100)
    await waiting.value!.release()
    slow.open()
    await time.settle()
    await time.advance(500)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('G5 a grant that arrives after its lease must have passed is not handed out', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    const slow = gate()
    store.mood.acquire = slow.promise
    const waiting = track(locks.acquire('k'))
    await time.advance(1_500)
    store.mood.acquire = 'work'
    slow.open()
    await time.advance(100)
    expect(waiting.value?.held).toBe(true)
    expect(waiting.value?.remainingMs).toBeGreaterThan(800)
    await locks.close()
  })

  it('G5 such a grant fails a call that tries once, which is told to take a longer lease', async () => {
    const { time, store, locks } = world({ lease: '3s', callTimeout: '3s' })
    const slow = gate()
    store.mood.acquire = slow.promise
    const trying = track(locks.tryAcquire('k'))
    await time.advance(2_900)
    slow.open()
    await time.advance(90)
    expect(trying.error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      key: 'k',
      message: expect.stringMatching(/took 29\d\d ms .* lease of 3000 ms: take a longer one/),
    })
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('G5 a compensation ends when the lease must have passed', async () => {
    const { time, store, locks } = world({ lease: '5s' })
    store.mood.acquire = 'fail'
    await expect(locks.tryAcquire('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await time.advance(6_000)
    const asked = store.count('release')
    expect(asked).toBeGreaterThan(3)
    await time.advance(60_000)
    expect(store.count('release')).toBe(asked)
    await locks.close()
  })

  it('G5 an extend whose reply was lost is counted in what may be left', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    const lease = await locks.acquire('k')
    store.mood.renew = 'lose reply'
    const extending = track(lease.extend('1h'))
    await time.advance(900)
    Object.assign(store.mood, { renew: 'fail', release: 'fail' })
    await time.advance(200)
    await expect(lease.release()).resolves.toBe(false)
    await time.advance(5_000)
    expect(extending.settled).toBe(true)
    expect(await store.heldKeys()).toEqual(['k'])
    store.mood.release = 'work'
    await time.advance(10_000)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('a confirmed release is final: nothing goes on after a failed extend', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const lease = await locks.acquire('k')
    store.mood.renew = 'fail'
    await expect(lease.extend('1h')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await lease.release()
    const { length } = store.calls
    await time.advance(600_000)
    expect(store.calls.length).toBe(length)
    await locks.close()
  })

  it('G5 tries without number on one key leave one thing to take back', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    store.mood.acquire = 'fail'
    store.mood.release = 'fail'
    for (let i = 0; i < 500; i += 1) {
      void track(locks.tryAcquire('k'))
      await time.advance(4)
    }
    expect(store.count('release')).toBeLessThan(40)
    Object.assign(store.mood, { acquire: 'work', release: 'work' })
    await time.advance(1_000)
    const before = store.count('release')
    await time.advance(10_000)
    expect(store.count('release') - before).toBeLessThan(60)
    await time.advance(60_000)
    const after = store.count('release')
    await time.advance(60_000)
    expect(store.count('release')).toBe(after)
    await locks.close()
  })

  it('nothing is taken back that was never sent', async () => {
    const { time, store, locks } = world()
    store.mood.open = 'fail'
    await expect(locks.tryAcquire('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    store.mood.open = 'work'
    await time.advance(1_000)
    expect(store.count('release')).toBe(0)
    await locks.close()
  })
})

describe('G7 calm: a store that is down', () => {
  it('G7 is STORE_UNAVAILABLE after the wait, and the next call works once it is back', async () => {
    const { time, store, locks } = world({ wait: '2s' })
    store.mood.acquire = 'fail'
    const failing = track(locks.acquire('k'))
    await time.advance(1_999)
    expect(failing.settled).toBe(false)
    await time.advance(1)
    expect(failing.error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      cause: { message: 'connection refused' },
    })
    store.mood.acquire = 'work'
    await expect(locks.using('k', () => 1)).resolves.toBe(1)
    await locks.close()
  })

  it('G7 a store that comes back within the wait serves the waiter', async () => {
    const { time, store, locks } = world({ wait: '5s' })
    store.mood.open = 'fail'
    const waiting = track(locks.acquire('k'))
    await time.advance(2_000)
    store.mood.open = 'work'
    await time.advance(500)
    expect(waiting.value?.held).toBe(true)
    await locks.close()
  })

  it('G7 a frozen store costs a try no more than the call limit', async () => {
    const { time, store, locks } = world({ callTimeout: '3s' })
    store.mood.acquire = 'hang'
    const trying = track(locks.tryAcquire('k'))
    await time.advance(3_000)
    expect(trying.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await locks.close()
  })

  it('G7 a wait that is over while the key is held here is contention, whatever the store does', async () => {
    const { time, store, locks } = world()
    await locks.acquire('k')
    store.mood.renew = 'hang'
    const waiting = track(locks.acquire('k', { wait: '1s' }))
    await time.advance(1_000)
    expect(waiting.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await locks.close()
  })

  it('G7 a store that is silent on our own release is out of reach, not contended', async () => {
    const { time, store, locks } = world()
    const lease = await locks.acquire('k')
    store.mood.release = 'hang'
    void track(lease.release())
    const waiting = track(locks.acquire('k', { wait: '1s' }))
    await time.advance(1_000)
    expect(waiting.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const closing = locks.close()
    await time.advance(10_000)
    await closing
  })

  it('G5 what an outage leaves behind is bounded, costs a few calls a second, and goes when the store is back', async () => {
    const { time, store, locks } = world({ lease: '30s', callTimeout: '500ms' })
    store.mood.acquire = 'lose reply'
    store.mood.release = 'fail'
    const lost = Array.from({ length: 900 }, (_, i) => track(locks.acquire(`lost ${i}`, { wait: 500 })))
    await time.advance(1_000)
    expect(lost.every(({ error }) => error)).toBe(true)
    store.mood.acquire = 'fail'
    for (let i = 0; i < 12_000; i += 1) void track(locks.acquire(`refused ${i}`, { wait: 0 }))
    await time.advance(1_000)
    const before = store.calls.length
    await time.advance(10_000)
    const [calls, items] = [store.calls.slice(before), (call: { items: number }) => call.items]
    expect(calls.length).toBeGreaterThan(50)
    expect(calls.map(items).reduce((a, b) => a + b)).toBeLessThanOrEqual(110)
    store.mood.release = 'work'
    const asked = store.calls.length
    await time.advance(100)
    const released = store.calls.slice(asked).map(items)
    expect(released.reduce((a, b) => a + b)).toBeGreaterThan(9_000)
    expect(released.reduce((a, b) => a + b)).toBeLessThanOrEqual(10_100)
    await locks.close()
  })

  it('an option that the store refuses fails at once, not after the wait', async () => {
    const { time, store, locks } = world()
    const { LockError } = await import('../../src/errors.ts')
    store.inner.acquire = () => Promise.reject(new LockError('INVALID_OPTION', 'the table has other columns'))
    const failing = track(locks.acquire('k', { wait: '1h' }))
    await time.settle()
    expect(failing.error).toMatchObject({ code: 'INVALID_OPTION' })
    await locks.close()
  })

  it('health tells a store that is down from one that is up, and never rejects', async () => {
    const { time, store, locks } = world()
    expect(await locks.health()).toMatchObject({ ok: true, store: 'trial', error: null })
    store.mood.list = 'hang'
    const checking = track(locks.health())
    await time.advance(3_000)
    expect(checking.value).toMatchObject({ ok: false, latencyMs: null, error: { code: 'STORE_UNAVAILABLE' } })
    await locks.close()
    expect(await locks.health()).toMatchObject({ ok: false, error: { code: 'CLOSED' } })
  })
})
