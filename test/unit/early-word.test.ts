import { describe, expect, it } from 'vitest'
import { gate, track, world } from './support/world.ts'

describe('G2 early word', () => {
  it('G2 aborts the signal at send time + lease − margin when renewals hang', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const lease = await locks.acquire('k')
    const start = time.now()
    let abortedAt = 0
    lease.signal.addEventListener('abort', () => (abortedAt = time.now()))
    store.mood.renew = 'hang'
    await time.advance(9_499)
    expect(lease.held).toBe(true)
    await time.advance(500)
    expect(abortedAt - start).toBe(9_500)
    expect(lease.held).toBe(false)
    expect(lease.remainingMs).toBe(0)
    expect(lease.signal.reason).toMatchObject({ name: 'LockError', code: 'LOCK_LOST', key: 'k' })
    // By the store's clock nobody else could have had it yet.
    expect(await store.heldKeys()).toEqual(['k'])
    await locks.close()
  })

  it('G2 counts the lease from the send, not from the reply', async () => {
    const { time, store, locks } = world({ lease: '2s' })
    const slow = gate()
    store.mood.acquire = slow.promise
    const acquiring = locks.acquire('k', { renew: false })
    await time.advance(1_500)
    slow.open()
    const lease = await acquiring
    expect(lease.remainingMs).toBe(400)
    await time.advance(399)
    expect(lease.held).toBe(true)
    await time.advance(1)
    expect(lease.signal.aborted).toBe(true)
    await locks.close()
  })

  it('G2 counts a renewal from its send too', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const lease = await locks.acquire('k')
    const slow = gate()
    store.mood.renew = slow.promise
    await time.advance(1_400)
    slow.open()
    await time.settle()
    // Sent at 1,000 ms, confirmed at 1,400: the deadline is 1,000 + 3,000 − 150.
    expect(lease.remainingMs).toBe(2_450)
    await locks.close()
  })

  it('G2 sees the loss in the next line after a blocked event loop', async () => {
    const { time, locks } = world({ lease: '1s' })
    const lease = await locks.acquire('k')
    const { signal } = lease
    time.block(2_000)
    expect(lease.held).toBe(false)
    expect(signal.aborted).toBe(true)
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }))
    await locks.close()
  })

  it('G2 reading only the signal after a blocked event loop is enough', async () => {
    const { time, locks } = world({ lease: '1s' })
    const lease = await locks.acquire('k')
    time.block(2_000)
    expect(lease.signal.aborted).toBe(true)
    await locks.close()
  })

  it('G2 a renewal that the store confirms after the deadline revives nothing', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    const lease = await locks.acquire('k')
    const slow = gate()
    store.mood.renew = slow.promise
    await time.advance(960)
    expect(lease.held).toBe(false)
    slow.open()
    await time.settle()
    expect(lease.held).toBe(false)
    await expect(lease.release()).resolves.toBe(false)
    await locks.close()
  })

  it('G2 renewals are retried until the deadline and one success is enough', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const failures: number[] = []
    locks.on('renewal-failed', ({ remainingMs }) => failures.push(remainingMs))
    const lease = await locks.acquire('k')
    store.mood.renew = 'fail'
    await time.advance(9_000)
    expect(lease.held).toBe(true)
    expect(failures.length).toBeGreaterThan(3)
    store.mood.renew = 'work'
    await time.advance(450)
    expect(lease.held).toBe(true)
    expect(lease.remainingMs).toBeGreaterThan(9_000)
    await time.advance(60_000)
    expect(lease.held).toBe(true)
    await locks.close()
  })

  it('G2 a renewal that the store refuses is a loss at once', async () => {
    const { time, store, locks } = world({ lease: '9s' })
    const lost = track(new Promise((resolve) => locks.on('lost', resolve)))
    const lease = await locks.acquire('k')
    await store.inner.evict('k')
    await time.advance(3_000)
    expect(lease.signal.aborted).toBe(true)
    expect(lost.value).toMatchObject({ key: 'k', token: lease.token })
    await locks.close()
  })

  it('G2 a short silence of the store costs no short lease, however many there are', async () => {
    const { time, store, locks } = world({ lease: '2s' })
    for (let i = 0; i < 30; i += 1) {
      await locks.acquire(`k${i}`)
      await time.advance(22)
    }
    store.mood.renew = 'lose reply'
    await time.advance(600)
    store.mood.renew = 'work'
    await time.advance(10_000)
    expect(locks.stats()).toMatchObject({ lost: 0, held: 30 })
    await locks.close()
  })

  it('with renew: false the lease ends by itself, and is not renewed', async () => {
    const { time, store, locks } = world()
    const lease = await locks.acquire('k', { lease: '1s', renew: false })
    await time.advance(2_000)
    expect(lease.held).toBe(false)
    expect(store.count('renew')).toBe(0)
    await locks.close()
  })

  it('extend renews now, changes the length, and never shortens', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const lease = await locks.acquire('k')
    await time.advance(1_000)
    await lease.extend('60s')
    expect(lease.remainingMs).toBe(57_000)
    await lease.extend('1s')
    expect(lease.remainingMs).toBe(57_000)
    expect((await store.inner.list({ limit: 1 })).locks[0]?.remainingMs).toBe(60_000)
    await lease.release()
    await expect(lease.extend()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
    await locks.close()
  })

  it('G6 an extend that its own release overtakes is told so, not of a loss', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const lease = await locks.acquire('k')
    const slow = gate()
    store.mood.renew = slow.promise
    const extending = track(lease.extend())
    await time.settle()
    expect(await lease.release()).toBe(true)
    slow.open()
    await time.settle()
    expect(extending.error).toMatchObject({ code: 'LOCK_NOT_HELD' })
    expect(locks.stats().lost).toBe(0)
    await locks.close()
  })

  it('an extend that close() overtakes is refused: the deadline has not moved', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const body = gate()
    const slow = gate()
    store.mood.renew = slow.promise
    const outcome = { extending: track(Promise.resolve()) }
    const section = locks.using('k', async (lease) => {
      outcome.extending = track(lease.extend('60s'))
      await body.promise
    })
    await time.settle()
    const closing = locks.close()
    await time.settle()
    slow.open()
    await time.settle()
    expect(outcome.extending.error).toMatchObject({ code: 'CLOSED' })
    body.open()
    await section
    await closing
  })

  it('a failed extend leaves the lease and its pace as they were', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const lease = await locks.acquire('k')
    store.mood.renew = 'fail'
    await expect(lease.extend('1h')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(lease.held).toBe(true)
    store.mood.renew = 'work'
    await time.advance(60_000)
    expect(lease.held).toBe(true)
    expect(store.count('renew')).toBeGreaterThan(40)
    await locks.close()
  })
})
