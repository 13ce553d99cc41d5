import { describe, expect, it } from 'vitest'
import { gate, track, world } from './support/world.ts'

describe('G9 no starvation', () => {
  it('G9 hand-off is bounded in time, and the key then goes round', async () => {
    const { time, locks, other } = world()
    const two = other()
    const log: string[] = []
    let stop = false
    const loop = async (client: typeof locks, name: string): Promise<void> => {
      while (!stop) {
        await client.using('k', async () => {
          log.push(name)
          await new Promise<void>((resolve) => time.setTimer(10, resolve))
        })
      }
    }
    const loops = [
      loop(locks, 'one'),
      loop(locks, 'one'),
      loop(locks, 'one'),
      loop(two, 'two'),
      loop(two, 'two'),
    ]
    await time.advance(3_000)
    stop = true
    await time.advance(1_000)
    await Promise.all(loops)
    const runs = log.join(' ').match(/(one ?)+|(two ?)+/g)!
    const longest = Math.max(...runs.map((run) => run.trim().split(' ').length))
    expect(longest).toBeLessThanOrEqual(11)
    expect(log.filter((name) => name === 'two').length).toBeGreaterThan(log.length / 4)
    await locks.close()
    await two.close()
  })

  it('G9 a single looping task does not keep a wanted key to itself', async () => {
    const { time, locks, other } = world()
    const two = other()
    let turns = 0
    let stop = false
    const loop = (async () => {
      while (!stop) {
        turns += 1
        await locks.using('k', () => new Promise<void>((resolve) => time.setTimer(10, resolve)))
      }
    })()
    await time.advance(50)
    const theirs = track(two.acquire('k'))
    await time.advance(30)
    expect(theirs.value?.held).toBe(true)
    stop = true
    await theirs.value?.release()
    await time.advance(1_000)
    await loop
    expect(turns).toBeGreaterThan(3)
    await locks.close()
    await two.close()
  })

  it('G9 courtesy never costs a waiter its whole wait', async () => {
    for (const [push, wait] of [
      [true, 20],
      [false, 200],
    ] as const) {
      const { time, locks, other } = world({ push, poll: { max: '500ms' } })
      const two = other()
      const lease = await locks.acquire('k')
      void track(two.acquire('k', { wait: 10 }))
      await time.advance(20)
      await lease.release()
      const waiting = track(locks.acquire('k', { wait }))
      await time.advance(wait)
      expect(waiting.value?.held).toBe(true)
      await locks.close()
      await two.close()
    }
  })

  it('G9 a process whose waiters are always about to give up lets others ask first all the same', async () => {
    const { time, locks, other } = world({ push: false })
    const two = other()
    const body = (): Promise<void> => new Promise((resolve) => time.setTimer(20, resolve))
    let stop = false
    // Four times as many as can be served: who is next has always waited for nearly as long as it will.
    const arrive = (): void => {
      if (stop) return
      void track(locks.using('k', { wait: '500ms' }, body))
      time.setTimer(5, arrive)
    }
    arrive()
    await time.advance(2_000)
    const theirs = track(two.acquire('k', { wait: '10s' }))
    await time.advance(9_990)
    expect(theirs.value?.held).toBe(true)
    stop = true
    await theirs.value?.release()
    await time.advance(1_000)
    await locks.close()
    await two.close()
  })

  it.each([{ renew: false }, { atLeast: '300ms' }] as const)(
    'keeps the process alive, for ever if need be, also behind a lease with %o',
    async (options) => {
      const { time, locks } = world()
      const lease = await locks.acquire('k', { lease: '1s', ...options })
      if ('atLeast' in options) await lease.release()
      expect(time.awake).toBe(0)
      const waiting = track(locks.acquire('k', { wait: Infinity }))
      await time.settle()
      expect([waiting.settled, time.awake]).toEqual([false, 1])
      await time.advance(2_000)
      expect([waiting.value?.held, time.awake]).toEqual([true, 0])
      await locks.close()
    },
  )

  it('one try while the store is out of reach fails as such, also behind others', async () => {
    const { time, store, locks } = world()
    store.mood.acquire = 'fail'
    const behind = track(locks.acquire('k', { wait: '10s' }))
    await time.advance(50)
    for (const attempt of [
      () => locks.tryAcquire('k'),
      () => locks.acquire('k', { wait: 0 }),
      () => locks.tryAcquire(['j', 'k']),
      () => locks.acquire(['j', 'k'], { wait: 0 }),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(locks.stats()).toMatchObject({ failed: 4, timedOut: 0 })
    store.mood.acquire = 'work'
    await time.advance(5_000)
    expect(behind.value?.held).toBe(true)
    await expect(locks.tryAcquire('k')).resolves.toBeNull()
    await locks.close()
  })

  it('a longer lease on its way is not handed on', async () => {
    const { time, store, locks } = world({ lease: '10s' })
    const lease = await locks.acquire('k')
    const slow = gate()
    store.mood.renew = slow.promise
    const extending = track(lease.extend('1h'))
    const next = track(locks.acquire('k'))
    await time.settle()
    await lease.release()
    slow.open()
    await time.settle()
    expect(extending.settled).toBe(true)
    expect(next.value?.remainingMs).toBeLessThanOrEqual(9_500)
    await locks.close()
  })

  it('a lease that was made shorter is not handed on', async () => {
    const { time, store, locks } = world({ lease: '4s' })
    const lease = await locks.acquire('k')
    const next = track(locks.acquire('k'))
    await lease.extend('200ms')
    await lease.release()
    await time.settle()
    expect(store.count('acquire')).toBe(2)
    expect((await locks.inspect('k'))?.leaseMs).toBe(4000)
    expect(next.value?.remainingMs).toBeGreaterThan(3_000)
    await locks.close()
  })

  it('a shorter lease on its way does not shorten that of the next', async () => {
    const { time, store, locks } = world({ lease: '30s' })
    const lease = await locks.acquire('k')
    const next = track(locks.acquire('k'))
    const slow = gate()
    store.mood.renew = slow.promise
    const extending = track(lease.extend('100ms'))
    await time.settle()
    await lease.release()
    slow.open()
    await time.settle()
    expect(extending.error).toMatchObject({ code: 'LOCK_NOT_HELD' })
    await time.advance(40_000)
    store.mood.renew = 'hang'
    await time.advance(1_000)
    expect(next.value?.held).toBe(true)
    await locks.close()
  })

  it('a hold is handed on only to a waiter whose options fit it', async () => {
    const { store, locks } = world({ lease: '10s' })
    const unlike = [
      { lease: '20s' },
      { renew: false },
      { context: 'why' },
      { rotateToken: '1s' },
      { atLeast: 1 },
    ] as const
    for (const options of unlike) {
      const before = store.count('acquire')
      const lease = await locks.acquire('k')
      const waiting = locks.acquire('k', options)
      await lease.release()
      await (await waiting).release()
      expect(store.count('acquire') - before).toBe(2)
      if ('atLeast' in options) await locks.close()
    }
  })
})
