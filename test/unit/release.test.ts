import { describe, expect, it } from 'vitest'
import { track, world } from './support/world.ts'

describe('G4 owner only, G6 loss is a value', () => {
  it('G4 a late holder cannot hurt its successor', async () => {
    const { time, store, locks, other } = world({ lease: '1s' })
    const late = await locks.acquire('k', { renew: false })
    await time.advance(1_001)
    const two = other()
    const next = await two.acquire('k')
    await expect(late.release()).resolves.toBe(false)
    await time.advance(1_000)
    expect(next.held).toBe(true)
    expect(await store.heldKeys()).toEqual(['k'])
    await locks.close()
    await two.close()
  })

  it('G6 release after loss resolves false; release twice is LOCK_NOT_HELD; dispose is quiet', async () => {
    const { time, locks } = world({ lease: '1s' })
    const lost = await locks.acquire('a', { renew: false })
    await time.advance(1_000)
    await expect(lost.release()).resolves.toBe(false)
    await expect(lost.release()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
    const lease = await locks.acquire('b')
    await expect(lease.release()).resolves.toBe(true)
    await expect(lease.release()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD', key: 'b' })
    await lease[Symbol.asyncDispose]()
    await lost[Symbol.asyncDispose]()
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }))
    await locks.close()
  })

  it('G6 using rejects with LOCK_LOST if its body ended after the loss, unless told to ignore it', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    store.mood.renew = 'fail'
    const late = (): Promise<string> => time.advance(1_000).then(() => 'done')
    await expect(locks.using('k', late)).rejects.toMatchObject({ code: 'LOCK_LOST' })
    await time.advance(1_000)
    await expect(locks.using('k', { onLost: 'ignore' }, late)).resolves.toBe('done')
    await locks.close()
  })

  it('G6 a loss is reported and told although only the release notices it', async () => {
    const { time, locks } = world({ lease: '1s' })
    const lost = track(new Promise((resolve) => locks.on('lost', resolve)))
    const lease = await locks.acquire('k')
    const { signal } = lease
    time.block(2_000)
    await expect(lease.release()).resolves.toBe(false)
    expect(signal.aborted).toBe(true)
    expect(lost.settled).toBe(true)
    expect(locks.stats()).toMatchObject({ lost: 1, released: 0 })
    await locks.close()
  })

  it('G6 a body that releases a lost lease itself does not hide the loss', async () => {
    const { time, store, locks } = world({ lease: '1s' })
    const late = locks.using('k', async (lease) => {
      time.block(2_000)
      await lease.release()
    })
    await expect(late).rejects.toMatchObject({ code: 'LOCK_LOST' })
    const freed = locks.using('k', async (lease) => {
      await store.inner.evict('k')
      await lease.release()
    })
    await expect(freed).rejects.toMatchObject({ code: 'LOCK_LOST' })
    await locks.close()
  })

  it("G6 the user's own error always wins", async () => {
    const { time, store, locks } = world({ lease: '1s' })
    const mine = new Error('mine')
    store.mood.renew = 'fail'
    const failing = locks.using('k', async () => {
      await time.advance(1_000)
      throw mine
    })
    await expect(failing).rejects.toBe(mine)
    store.mood.release = 'fail'
    await time.advance(1_000)
    await expect(locks.using('k', () => Promise.reject(mine))).rejects.toBe(mine)
    await locks.close()
  })

  it('G6 a key that was freed by force is reported when its body ends', async () => {
    const { store, locks } = world()
    const lost = track(new Promise((resolve) => locks.on('lost', resolve)))
    const section = locks.using('k', () => store.inner.evict('k'))
    await expect(section).rejects.toMatchObject({ code: 'LOCK_LOST', key: 'k' })
    expect(lost.settled).toBe(true)
    await locks.close()
  })

  it('G6 release() of a lease that the store does not have any more resolves false', async () => {
    const { locks, other } = world()
    const two = other()
    const lease = await locks.acquire('k')
    await two.forceRelease('k')
    await expect(lease.release()).resolves.toBe(false)
    expect(locks.stats()).toMatchObject({ lost: 1, released: 0 })
    await locks.close()
    await two.close()
  })

  it('forceRelease of a key held by the same client tells its holder at once', async () => {
    const { locks } = world()
    const lease = await locks.acquire('k')
    const record = await locks.inspect('k')
    expect(await locks.forceRelease('k', { grant: record!.grant + 1 })).toBeNull()
    expect(lease.held).toBe(true)
    expect(await locks.forceRelease('k', { grant: record!.grant })).toMatchObject({ key: 'k' })
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
    await locks.close()
  })

  it('forceRelease tells the holder although a rotation of its token went unheard', async () => {
    const { time, store, locks } = world()
    const lease = await locks.acquire('k', { lease: '10s', rotateToken: '2s' })
    store.mood.renew = 'lose reply'
    await time.advance(2_000)
    await locks.forceRelease('k')
    expect(lease.held).toBe(false)
    const closing = locks.close()
    await time.advance(10_000)
    await closing
  })

  it('a release that cannot be told is LOCK_RELEASE_FAILED, and is told again until it works', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    const lease = await locks.acquire('k')
    store.mood.release = 'fail'
    await expect(lease.release()).rejects.toMatchObject({ code: 'LOCK_RELEASE_FAILED' })
    expect(await store.heldKeys()).toEqual(['k'])
    store.mood.release = 'work'
    await time.advance(1_000)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('using resolves although its release could not be told, and says so in an event', async () => {
    const { store, locks } = world()
    const errors: string[] = []
    locks.on('error', ({ error }) => errors.push(error.code))
    store.mood.release = 'fail'
    await expect(locks.using('k', () => 5)).resolves.toBe(5)
    expect(errors).toContain('LOCK_RELEASE_FAILED')
    store.mood.release = 'work'
    await locks.close()
  })

  it('atLeast keeps the key after an early release, and no longer', async () => {
    const { time, store, locks, other } = world({ lease: '30s' })
    const two = other()
    await locks.using('job', { atLeast: '20s' }, () => {})
    expect(await two.tryAcquire('job')).toBeNull()
    expect(await locks.tryAcquire('job')).toBeNull()
    await time.advance(19_999)
    expect(await store.heldKeys()).toEqual(['job'])
    await time.advance(1)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
    await two.close()
  })

  it('atLeast outlives close: the key stays until its lease runs out', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    await locks.using('job', { atLeast: '20s' }, () => {})
    await locks.close()
    expect(time.timers).toBe(0)
    expect(await store.heldKeys()).toEqual(['job'])
    await time.advance(30_001)
    expect(await store.heldKeys()).toEqual([])
  })
})
