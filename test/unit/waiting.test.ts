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
})

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

  it('G9 courtesy never costs a waiter all that is left of its wait', async () => {
    for (const push of [true, false]) {
      const { time, locks, other } = world({ push, poll: { max: '500ms' } })
      const two = other()
      const lease = await locks.acquire('k')
      void track(two.acquire('k', { wait: 10 }))
      const waiting = track(locks.acquire('k', { wait: 1_000, lease: '10s' }))
      await time.advance(990)
      await lease.release()
      await time.advance(10)
      expect(waiting.value?.held).toBe(true)
      await locks.close()
      await two.close()
    }
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
