import { describe, expect, it } from 'vitest'
import { TrialJob } from './support/job.ts'
import { gate, track, world } from './support/world.ts'

const nothing = (): void => {}

describe('once that waits for another', () => {
  it('returns when done() is true, although the runner still has the lock', async () => {
    const { time, locks, other } = world()
    const two = other()
    const job = new TrialJob()
    const runner = track(two.once('k', job.options))
    await time.settle()
    const waiter = track(locks.once('k', job.options))
    await time.advance(1000)
    expect(waiter.settled).toBe(false)
    expect(locks.stats().waiting).toBe(1)
    job.marked = true
    await time.advance(5000)
    expect(waiter.value).toBe('done')
    expect(runner.settled).toBe(false)
    expect(locks.stats()).toMatchObject({ waiting: 0, held: 0 })
    job.finish()
    await time.settle()
    expect(runner.value).toBe('ran')
    expect(job.runs).toHaveLength(1)
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('returns soon after the runner is done, without waiting for the next look', async () => {
    const { time, locks, other } = world()
    const two = other()
    const job = new TrialJob()
    const runner = track(two.once('k', job.options))
    const waiters = [locks, locks, two].map((client) => track(client.once('k', job.options)))
    await time.advance(60_000)
    job.finish()
    await time.advance(50)
    expect(runner.value).toBe('ran')
    expect(waiters.map(({ value }) => value)).toEqual(['done', 'done', 'done'])
    await locks.close()
    await two.close()
  })

  it('asks less and less often, and at least every 5 seconds', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    const asked: number[] = []
    const done = (): boolean => {
      asked.push(time.now())
      return false
    }
    const call = track(locks.once('k', { done, run: nothing, wait: '2m' }))
    await time.advance(60_000)
    const gaps = asked.slice(1).map((at, i) => at - (asked[i] ?? 0))
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b))
    expect(gaps[0]).toBeLessThanOrEqual(100)
    expect(gaps.at(-1)).toBeGreaterThan(2500)
    expect(gaps.at(-1)).toBeLessThanOrEqual(5000)
    expect(call.settled).toBe(false)
    await locks.close()
    await time.settle()
    expect(call.error).toMatchObject({ code: 'CLOSED' })
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('asks once at a time while done() is slow, and at once when the lock comes', async () => {
    const { time, locks, other } = world()
    const two = other()
    const lease = await two.acquire('k')
    let [at, most, asked, runs] = [0, 0, 0, 0]
    const done = async (): Promise<boolean> => {
      asked += 1
      at += 1
      most = Math.max(most, at)
      await new Promise<void>((resolve) => time.setTimer(700, resolve))
      at -= 1
      return runs > 0
    }
    const options = { done, run: () => void (runs += 1) }
    const calls = [track(locks.once('k', options)), track(locks.once('k', options))]
    await time.advance(1000)
    expect([asked, at]).toEqual([2, 1])
    expect(most).toBe(1)
    await lease.release()
    await time.settle()
    expect([asked, at]).toEqual([3, 2])
    await time.advance(3000)
    expect(calls.map(({ value }) => value)).toEqual(['ran', 'done'])
    expect([most, runs]).toEqual([2, 1])
    await locks.close()
    await two.close()
  })

  it('does not act on an answer that is older than its lock', async () => {
    const { time, locks, other } = world()
    const two = other()
    const lease = await two.acquire('k')
    const answers = [gate(), gate(), gate()]
    let [asked, runs] = [0, 0]
    let marked = false
    const done = async (): Promise<boolean> => {
      const seen = marked
      await answers[(asked += 1) - 1]?.promise
      return seen
    }
    const call = track(locks.once('k', { done, run: () => void (runs += 1) }))
    answers[0]?.open()
    await time.advance(100)
    expect(asked).toBe(2)
    // The second looks, and finds nothing; then the other leaves its mark, and the lock.
    marked = true
    await lease.release()
    await time.settle()
    answers[1]?.open()
    await time.settle()
    expect(asked).toBe(3)
    answers[2]?.open()
    await time.settle()
    expect([call.value, runs]).toEqual(['done', 0])
    await locks.close()
    await two.close()
  })

  it('does not act on the answer of another that is older than its lock', async () => {
    const { time, locks, other } = world()
    const two = other()
    const lease = await two.acquire('k')
    const [older, newer] = [gate(), gate()]
    let [asked, runs] = [0, 0]
    let marked = false
    const done = async (): Promise<boolean> => ((asked += 1) > 1 ? newer.promise.then(() => marked) : false)
    const call = track(locks.once('k', { done, run: () => void (runs += 1) }))
    await time.settle()
    // The other looks, and finds nothing; then the holder leaves its mark, and the lock.
    const slow = track(locks.once('k', { done: () => older.promise.then(() => false), run: () => {} }))
    marked = true
    await lease.release()
    await time.settle()
    expect(asked).toBe(2)
    older.open()
    await time.settle()
    expect([call.settled, runs]).toEqual([false, 0])
    newer.open()
    await time.settle()
    expect([call.value, slow.value, runs]).toEqual(['done', 'done', 0])
    await locks.close()
    await two.close()
  })

  it('waits for 5 minutes by default, or as long as the client if that is longer', async () => {
    const { time, locks, other } = world()
    const two = other({ wait: '10m' })
    const holder = other()
    await holder.acquire('k')
    const options = { done: () => false, run: nothing }
    const calls = [track(locks.once('k', options)), track(two.once('k', options))]
    await time.advance(299_000)
    expect(calls.map(({ settled }) => settled)).toEqual([false, false])
    await time.advance(2_000)
    expect(calls[0]?.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT', key: 'k' })
    expect(calls[1]?.settled).toBe(false)
    await time.advance(300_000)
    expect(calls[1]?.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    for (const client of [locks, two, holder]) await client.close()
    expect(time.timers).toBe(0)
  })

  it('tries once with a wait of 0', async () => {
    const { time, locks, other } = world()
    const two = other()
    const lease = await two.acquire('k')
    const options = { done: async () => false, run: nothing, wait: 0 }
    await expect(locks.once('k', options)).rejects.toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await lease.release()
    await expect(locks.once('k', options)).resolves.toBe('ran')
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('gives up at its signal: before, while done() looks, and in the queue', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('k')
    let asked = 0
    const done = (): boolean => (asked += 1) < 0
    const reason = new Error('stop')
    const signal = AbortSignal.abort(reason)
    await expect(locks.once('k', { done, run: nothing, signal })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
      cause: reason,
    })
    expect(asked).toBe(0)
    const stop = new AbortController()
    const options = { run: nothing, signal: stop.signal }
    const looking = track(locks.once('other', { ...options, done: () => new Promise<boolean>(nothing) }))
    const queued = track(locks.once('k', { ...options, done }))
    await time.settle()
    expect(locks.stats().waiting).toBe(1)
    stop.abort(reason)
    await time.settle()
    expect(looking.error).toMatchObject({ code: 'LOCK_ABORTED', key: 'other', cause: reason })
    expect(queued.error).toMatchObject({ code: 'LOCK_ABORTED', key: 'k', cause: reason })
    expect(locks.stats().waiting).toBe(0)
    await locks.close()
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('does not end at its signal once it runs', async () => {
    const { time, locks } = world()
    const job = new TrialJob()
    const stop = new AbortController()
    const call = track(locks.once('k', { ...job.options, signal: stop.signal }))
    await time.settle()
    stop.abort()
    await time.settle()
    expect(call.settled).toBe(false)
    job.finish()
    await time.settle()
    expect(call.value).toBe('ran')
    await locks.close()
  })

  it('returns with done() while the store is out of reach', async () => {
    const { time, store, locks } = world()
    const job = new TrialJob()
    store.mood.acquire = 'fail'
    const call = track(locks.once('k', job.options))
    await time.advance(2000)
    expect(call.settled).toBe(false)
    job.marked = true
    await time.advance(5000)
    expect(call.value).toBe('done')
    const failing = track(locks.once('l', { done: () => false, run: nothing, wait: '1s' }))
    await time.advance(1000)
    expect(failing.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await locks.close()
    expect(time.timers).toBe(0)
  })
})
