import { describe, expect, it } from 'vitest'
import { gate, track, world } from './support/world.ts'

describe('G8 in order', () => {
  it('G8 waiters of one process are served first come, first served, by one ask', async () => {
    const { store, locks } = world()
    const order: number[] = []
    const first = await locks.acquire('k')
    const rest = [1, 2, 3, 4, 5].map((i) => locks.using('k', () => order.push(i)))
    await first.release()
    await Promise.all(rest)
    expect(order).toEqual([1, 2, 3, 4, 5])
    expect(store.calls.filter(({ step }) => step === 'acquire')).toEqual([{ step: 'acquire', items: 1 }])
    await locks.close()
  })

  it('G8 a waiter elsewhere is woken by push at the release, not by its poll', async () => {
    const { time, locks, other } = world({ poll: { max: '1h' } })
    const two = other({ poll: { max: '1h' } })
    const lease = await locks.acquire('k')
    const waiting = track(two.acquire('k', { wait: '1m' }))
    await time.advance(1_000)
    expect(waiting.settled).toBe(false)
    await lease.release()
    await time.settle()
    expect(waiting.value?.held).toBe(true)
    await locks.close()
    await two.close()
  })

  it('G8 without push a freed key is found by a bounded poll', async () => {
    const { time, locks, other } = world({ push: false })
    const two = other({ poll: { min: '20ms', max: '400ms' } })
    const lease = await locks.acquire('k')
    const waiting = track(two.acquire('k', { wait: '1m' }))
    await time.advance(10_000)
    await lease.release()
    await time.advance(400)
    expect(waiting.value?.held).toBe(true)
    await locks.close()
    await two.close()
  })

  it('G8 a lost wake-up costs at most the poll, never the lease', async () => {
    const { time, store, locks, other } = world({ lease: '1h' })
    store.inner.watch = () => ({ add() {}, delete() {}, close: async () => {} })
    const two = other({ poll: { max: '500ms' } })
    const lease = await locks.acquire('k')
    const waiting = track(two.acquire('k', { wait: '1m' }))
    await time.advance(5_000)
    await lease.release()
    await time.advance(500)
    expect(waiting.value?.held).toBe(true)
    await locks.close()
    await two.close()
  })

  it('G8 word that the key is free which comes while asking is not lost', async () => {
    const { time, store, locks, other } = world({ poll: { max: '1h' } })
    const two = other()
    const theirs = await two.acquire('k')
    const waiting = track(locks.acquire('k', { wait: '1h' }))
    await time.settle()
    // The denial of this second ask is on its way when the key is freed.
    const slow = gate()
    const { inner } = store
    const acquire = inner.acquire.bind(inner)
    inner.acquire = async (asks) => {
      const answers = await acquire(asks)
      await slow.promise
      return answers
    }
    await time.advance(30_000)
    const later = time.advance(25_000 * 60)
    await later
    await theirs.release()
    await time.settle()
    slow.open()
    await time.settle()
    await time.advance(10)
    expect(waiting.value?.held).toBe(true)
    await locks.close()
    await two.close()
  })

  it('the wake-up for a holder that died comes with the end of its lease', async () => {
    const { time, locks, other } = world({ lease: '2s', poll: { max: '1h' } })
    const two = other()
    const granted = track(new Promise((resolve) => locks.on('granted', resolve)))
    await two.acquire('k', { lease: '2s', renew: false })
    const waiting = track(locks.acquire('k', { wait: '1m' }))
    await time.advance(1_999)
    expect(waiting.settled).toBe(false)
    await time.advance(6)
    expect(waiting.value?.held).toBe(true)
    expect(granted.value).toMatchObject({ takenOver: true, previous: { service: 'two' } })
    await locks.close()
    await two.close()
  })

  it('a waiter that gives up leaves at once, wherever it stands', async () => {
    const { time, locks } = world({ wait: '10s' })
    const lease = await locks.acquire('k')
    const stop = new AbortController()
    const first = track(locks.acquire('k'))
    const second = track(locks.acquire('k', { signal: stop.signal }))
    const third = track(locks.acquire('k', { wait: '1s' }))
    const fourth = track(locks.acquire('k'))
    expect(locks.stats().waiting).toBe(4)
    stop.abort(new Error('enough'))
    await time.settle()
    expect(second.error).toMatchObject({ code: 'LOCK_ABORTED', key: 'k', cause: stop.signal.reason })
    await time.advance(1_000)
    expect(third.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT', key: 'k' })
    expect(locks.stats().waiting).toBe(2)
    await lease.release()
    await time.settle()
    expect(first.value?.held).toBe(true)
    expect(fourth.settled).toBe(false)
    await locks.close()
  })

  it('a late grant for a waiter that left goes to the next one', async () => {
    const { time, store, locks } = world()
    const slow = gate()
    store.mood.acquire = slow.promise
    const stop = new AbortController()
    const left = track(locks.acquire('k', { signal: stop.signal }))
    const next = track(locks.acquire('k'))
    await time.settle()
    stop.abort()
    await time.settle()
    expect(left.error).toMatchObject({ code: 'LOCK_ABORTED' })
    slow.open()
    await time.settle()
    expect(next.value?.held).toBe(true)
    expect(store.count('acquire')).toBe(1)
    await locks.close()
  })

  it('a late grant for nobody is given back', async () => {
    const { time, store, locks } = world()
    const slow = gate()
    store.mood.acquire = slow.promise
    const left = track(locks.acquire('k', { wait: '100ms' }))
    await time.advance(200)
    expect(left.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    slow.open()
    await time.settle()
    expect(store.count('release')).toBe(1)
    expect(await store.heldKeys()).toEqual([])
    expect(locks.stats()).toMatchObject({ held: 0, waiting: 0 })
    await locks.close()
  })

  it('a late grant that does not suit the next waiter is given back, and that one asks for itself', async () => {
    const { time, store, locks } = world()
    const slow = gate()
    store.mood.acquire = slow.promise
    const stop = new AbortController()
    void track(locks.acquire('k', { signal: stop.signal, lease: '1h' }))
    const next = track(locks.acquire('k', { lease: '2s' }))
    await time.settle()
    stop.abort()
    store.mood.acquire = 'work'
    slow.open()
    await time.settle()
    expect(next.value?.remainingMs).toBe(1_900)
    expect(store.count('acquire')).toBe(2)
    await locks.close()
  })

  it('wait: 0 is one try, wait: Infinity waits on', async () => {
    const { time, store, locks, other } = world()
    const two = other()
    const lease = await two.acquire('k')
    await expect(locks.acquire('k', { wait: 0 })).rejects.toMatchObject({
      code: 'LOCK_ACQUIRE_TIMEOUT',
      message: expect.stringContaining('two'),
    })
    expect(await locks.tryAcquire('k')).toBeNull()
    expect(store.count('acquire')).toBe(2)
    const patient = track(locks.acquire('k', { wait: Infinity }))
    await time.advance(3_600_000)
    expect(patient.settled).toBe(false)
    await lease.release()
    await time.settle()
    expect(patient.value?.held).toBe(true)
    expect(await locks.tryAcquire('k')).toBeNull()
    await locks.close()
    await two.close()
  })

  it('a hundred waiters on one signal cost one listener, and leave none behind', async () => {
    const { locks } = world()
    const { signal } = new AbortController()
    let listeners = 0
    let most = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => (
      (most = Math.max(most, (listeners += 1))),
      add(...args)
    )
    signal.removeEventListener = (...args: Parameters<typeof remove>) => ((listeners -= 1), remove(...args))
    await Promise.all(Array.from({ length: 100 }, () => locks.using('k', { signal }, () => {})))
    expect(listeners).toBe(0)
    expect(most).toBe(1)
    await locks.close()
  })

  it('G8 is woken by a watch that could not be opened before', async () => {
    const { time, store, locks, other } = world({ poll: { max: '60s' } })
    const two = other({ poll: { max: '60s' } })
    const open = store.watch!.bind(store)
    let broken = true
    Object.assign(store, {
      watch: (onFreed: (key: string) => void) => {
        if (broken) throw new Error('no connection is left')
        return open(onFreed)
      },
    })
    const lease = await two.acquire('k')
    const waiting = track(locks.acquire('k', { wait: '1h' }))
    await time.advance(100)
    broken = false
    // The lease would have ended: it asks again, and has a watch from then on.
    await time.advance(60_000)
    const askedAt = store.calls.length
    await lease.release()
    await time.advance(10)
    expect([store.calls.length > askedAt, waiting.value?.held]).toEqual([true, true])
    await locks.close()
    await two.close()
  })
})
