import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import type { VirtualTime } from './support/virtual-time.ts'
import { gate, world } from './support/world.ts'

/** Whoever asks finds it taken until that is over, to the millisecond. */
async function expectTakenFor(others: Locks, time: VirtualTime, ms: number): Promise<void> {
  await time.advance(ms - 1)
  expect(await others.tryAcquire('job')).toBeNull()
  await time.advance(1)
  expect(await others.tryAcquire('job')).not.toBeNull()
}

describe('atLeast', () => {
  it('holds although the process dies right after the grant', async () => {
    const { time, store, locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.acquire('job', { atLeast: '30s' })
    store.mood.renew = store.mood.release = 'hang'
    await time.advance(29_900)
    expect(await two.tryAcquire('job')).toBeNull()
    await time.advance(101)
    expect(await two.tryAcquire('job')).not.toBeNull()
  })

  it('holds although the process dies after an early release', async () => {
    const { time, store, locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.using('job', { atLeast: '20s' }, () => {})
    store.mood.renew = store.mood.release = 'hang'
    await time.advance(19_999)
    expect(await two.tryAcquire('job')).toBeNull()
    await time.advance(10_002)
    expect(await two.tryAcquire('job')).not.toBeNull()
  })

  it('holds to the end of a lease that is not renewed', async () => {
    const { time, locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.using('job', { atLeast: '30s', renew: false }, () => {})
    await time.advance(29_900)
    expect(await two.tryAcquire('job')).toBeNull()
    await time.advance(101)
    expect(await two.tryAcquire('job')).not.toBeNull()
    await two.close()
  })

  it('holds although the store is out of reach when it is over, and then the key is free with its lease', async () => {
    const { time, store, locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.using('job', { atLeast: '5s' }, () => {})
    store.mood.renew = store.mood.release = 'fail'
    await time.advance(4_999)
    expect(await two.tryAcquire('job')).toBeNull()
    await time.advance(25_002)
    expect(await two.tryAcquire('job')).not.toBeNull()
    await two.close()
    await locks.close()
  })

  it('is over on time although the renewals meanwhile were not answered', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    await locks.using('job', { atLeast: '30s' }, () => {})
    // They have reached the store, which would keep the key for longer.
    store.mood.renew = 'lose reply'
    await time.advance(29_999)
    expect(await store.heldKeys()).toEqual(['job'])
    await time.advance(1)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('holds although the job has failed', async () => {
    const { time, locks, other } = world({ lease: '30s' })
    const two = other()
    const failing = locks.using('job', { atLeast: '20s' }, () => Promise.reject(new Error('no paper')))
    await expect(failing).rejects.toThrow('no paper')
    await expectTakenFor(two, time, 20_000)
    await two.close()
    await locks.close()
  })

  it('holds against waiters of the same process, which are not served by hand-off', async () => {
    const { time, locks } = world({ lease: '30s' })
    const lease = await locks.acquire('job', { atLeast: '20s' })
    let servedAt = 0
    const waiting = locks.using('job', { wait: '1m' }, () => {
      servedAt = time.now()
    })
    const grantedAt = time.now()
    await lease.release()
    await time.advance(30_000)
    await waiting
    expect(servedAt - grantedAt).toBe(20_000)
    await locks.close()
  })

  it('counts from the grant to the outermost section, whatever is entered again inside it', async () => {
    const { time, locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.using('job', { atLeast: '20s' }, async () => {
      await locks.using('job', { atLeast: '30s' }, () => {})
      const inner = await locks.acquire('job')
      await inner.release()
    })
    await expectTakenFor(two, time, 20_000)
    await two.close()
    await locks.close()
  })

  it('adds nothing to a job that took longer', async () => {
    const { time, locks, other } = world({ lease: '30s' })
    const two = other()
    const body = gate()
    const job = locks.using('job', { atLeast: '20s' }, () => body.promise)
    await time.advance(90_000)
    expect(await two.tryAcquire('job')).toBeNull()
    body.open()
    await job
    expect(await two.tryAcquire('job')).not.toBeNull()
    await two.close()
    await locks.close()
  })

  it('is over at once when the key is freed by force', async () => {
    const { locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.using('job', { atLeast: '20s' }, () => {})
    await two.forceRelease('job')
    expect(await two.tryAcquire('job')).not.toBeNull()
    await two.close()
    await locks.close()
  })

  it('keeps each of several keys', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    await locks.using(['a', 'b'], { atLeast: '20s' }, () => {})
    await time.advance(19_999)
    expect(await store.heldKeys()).toEqual(['a', 'b'])
    await time.advance(1)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })
})
