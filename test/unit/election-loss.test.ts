import { describe, expect, it } from 'vitest'
import { LockError } from '../../src/errors.ts'
import type { Term } from '../../src/election.ts'
import { leading } from './support/leading.ts'
import { gate, track, world } from './support/world.ts'

describe('a lease that is lost', () => {
  it('G2 aborts the signal before another can be elected', async () => {
    const { time, locks, store, other } = world({ lease: '10s' })
    const two = other({ lease: '10s' })
    const diary: string[] = []
    const end = gate()
    const election = locks.elect('boss', async ({ signal }) => {
      diary.push('one leads')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      diary.push('one is told')
      await end.promise
    })
    await time.settle()
    two.elect('boss', ({ signal }) => {
      diary.push('two leads')
      return new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    store.mood.renew = 'hang'
    await time.advance(9500)
    expect(diary).toEqual(['one leads', 'one is told'])
    expect(election.isLeader).toBe(false)
    await time.advance(510)
    expect(diary).toEqual(['one leads', 'one is told', 'two leads'])
    delete store.mood.renew
    end.open()
    await Promise.all([locks.close(), two.close()])
    expect(time.timers).toBe(0)
  })

  it('shows in the very line after a blocked event loop', async () => {
    const { time, locks } = world({ lease: '10s' })
    const end = gate()
    let term: Term | undefined
    const election = locks.elect('boss', (t) => {
      term = t
      return end.promise
    })
    await time.settle()
    time.block(10_000)
    expect(election.isLeader).toBe(false)
    expect(() => term?.assertLeader()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }))
    expect(term?.signal.aborted).toBe(true)
    end.open()
    await time.settle()
    await locks.close()
  })

  it('ends the term when the body does, and it stands again', async () => {
    const { time, locks } = world({ lease: '10s' })
    const ended: unknown[] = []
    locks.on('term-ended', ({ why, error }) => ended.push([why, error]))
    const numbers: number[] = []
    locks.elect('boss', async (term) => {
      numbers.push(term.number)
      await new Promise((resolve) => term.signal.addEventListener('abort', resolve))
      term.assertLeader()
    })
    await time.settle()
    await locks.forceRelease('boss')
    await time.settle()
    expect(ended).toEqual([['lost', undefined]])
    await time.advance(1250)
    expect(numbers).toHaveLength(2)
    expect(numbers[1]).toBeGreaterThan(numbers[0] ?? 0)
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

describe('a body that goes on after its signal has aborted', () => {
  it('is reported once, after a grace, and no new term of this client begins while it runs', async () => {
    const { time, locks, other } = world({ lease: '10s' })
    const overruns: object[] = []
    const ended: string[] = []
    locks.on('term-overrun', (event) => overruns.push(event))
    locks.on('term-ended', ({ why }) => ended.push(why))
    const end = gate()
    const terms: Term[] = []
    const election = locks.elect('boss', (term) => {
      terms.push(term)
      return end.promise
    })
    await time.settle()
    const { number, token } = terms[0] as Term
    await locks.forceRelease('boss')
    await time.advance(400)
    expect(overruns).toEqual([])
    await time.advance(100)
    expect(overruns).toEqual([{ name: 'boss', number, token, overdueMs: expect.closeTo(475, 0) }])
    await time.advance(60_000)
    expect([overruns.length, terms.length, ended]).toEqual([1, 1, []])
    expect(() => locks.elect('boss', () => {})).toThrow(/stands for "boss" already/)
    // Another may lead meanwhile.
    const two = other()
    const rival = two.elect('boss', leading().body)
    await time.settle()
    expect([rival.isLeader, election.isLeader]).toEqual([true, false])
    await two.close()
    end.open()
    await time.advance(1250)
    expect([terms.length, ended]).toEqual([2, ['lost', 'returned']])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is given longer after resign(), as it is still the only leader, but not if it then loses the lease', async () => {
    const { time, locks } = world({ lease: '10s' })
    const overdue: number[] = []
    locks.on('term-overrun', ({ overdueMs }) => overdue.push(Math.round(overdueMs)))
    const ends = [gate(), gate()]
    let terms = 0
    const election = locks.elect('boss', () => ends[terms++]?.promise)
    await time.settle()
    void election.resign()
    await time.advance(4700)
    expect(overdue).toEqual([])
    await time.advance(100)
    expect(overdue).toEqual([4750])
    await locks.forceRelease('boss')
    await time.advance(1000)
    expect(overdue).toEqual([4750])
    ends[0]?.open()
    await time.advance(1250)
    expect([terms, election.isLeader]).toEqual([2, true])
    void election.resign()
    await time.advance(1000)
    await locks.forceRelease('boss')
    await time.advance(600)
    expect(overdue).toEqual([4750, 1475])
    ends[1]?.open()
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('that ends in time is not reported', async () => {
    const { time, locks } = world({ lease: '10s' })
    let overruns = 0
    locks.on('term-overrun', () => (overruns += 1))
    const election = locks.elect('boss', async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await new Promise((resolve) => time.setTimer(300, () => resolve(null)))
    })
    await time.settle()
    await locks.forceRelease('boss')
    await time.advance(20_000)
    const stopped = track(election.stop())
    await time.advance(20_000)
    expect([stopped.settled, overruns]).toEqual([true, 0])
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

describe('a store that is down', () => {
  it('is waited for, for ever: the election never rejects', async () => {
    const { time, locks, store } = world()
    const errors: unknown[] = []
    locks.on('error', ({ error }) => errors.push(error.code))
    store.mood.acquire = 'fail'
    const election = locks.elect('boss', leading().body)
    await time.advance(600_000)
    expect(election.isLeader).toBe(false)
    expect(new Set(errors)).toEqual(new Set(['STORE_UNAVAILABLE']))
    store.mood.acquire = 'work'
    await time.advance(1000)
    expect(election.isLeader).toBe(true)
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('when the key is given back: stop() resolves all the same', async () => {
    const { time, locks, store } = world({ lease: '2s' })
    const election = locks.elect('boss', leading().body)
    await time.settle()
    store.mood.release = 'fail'
    const stopped = track(election.stop())
    await time.advance(5000)
    expect(stopped).toMatchObject({ settled: true, value: undefined })
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('or refuses: that is reported, and it tries again ever less often', async () => {
    const { time, locks, store } = world()
    const errors: string[] = []
    locks.on('error', ({ error }) => errors.push(error.code))
    const { inner } = store
    const acquire = inner.acquire.bind(inner)
    inner.acquire = async (asks) => asks.map(() => ({ error: new LockError('INVALID_OPTION', 'no table') }))
    const election = locks.elect('boss', leading().body)
    await time.advance(10_000)
    expect(errors).toEqual(['INVALID_OPTION', 'INVALID_OPTION', 'INVALID_OPTION', 'INVALID_OPTION'])
    inner.acquire = acquire
    await time.advance(30_000)
    expect(election.isLeader).toBe(true)
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('or has lost its records, with a clock that is behind: that is reported, ever less often, and nobody leads in vain', async () => {
    const warnings: string[] = []
    const { time, locks, store } = world({ logger: { warn: (line) => warnings.push(line) } })
    const errors: LockError[] = []
    locks.on('error', ({ error }) => errors.push(error))
    const { terms, body } = leading()
    const election = locks.elect('boss', body, { rotateToken: '1s' })
    await time.advance(10_000)
    const highest = Number(terms[0]?.token ?? 0n) / 1024
    expect(highest).toBeGreaterThan(terms[0]?.number ?? Infinity)
    const { inner } = store
    const acquire = inner.acquire.bind(inner)
    // Higher than what the term began with, and lower than what it ended with.
    let grant = highest - 1
    inner.acquire = async (asks) =>
      (await acquire(asks)).map((answer) =>
        'granted' in answer && answer.granted ? { ...answer, grant } : answer,
      )
    await election.resign()
    await time.advance(100_000)
    expect(errors.length).toBeGreaterThan(3)
    expect(errors.length).toBeLessThan(10)
    expect(errors[0]).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      key: 'boss',
      message: expect.stringContaining(`the grant ${grant}, lower than ${highest}, which`),
    })
    expect([terms.length, await store.heldKeys()]).toEqual([1, []])
    // Nobody may listen to that event.
    expect(warnings.filter((line) => line.includes('its clock is behind'))).toHaveLength(1)
    grant = highest + 1
    await time.advance(60_000)
    expect([terms.length, election.isLeader, terms[1]?.number]).toEqual([2, true, grant])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it.each(['a term that failed', 'a refusal'])(
    'and says so in the log also after %s, and anew when it has led again',
    async (before) => {
      const warnings: string[] = []
      const { time, locks, store } = world({ logger: { warn: (line) => warnings.push(line) } })
      const behind = (): number => warnings.filter((line) => line.includes('its clock is behind')).length
      let terms = 0
      let end!: () => void
      const over = new Promise<void>((resolve) => (end = resolve))
      const election = locks.elect('boss', async ({ signal }) => {
        terms += 1
        if (terms === 1) await over
        if (terms === 1 && before === 'a term that failed') throw new Error('the outage')
        if (terms === 2) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      })
      await time.advance(1000)
      const { inner } = store
      const acquire = inner.acquire.bind(inner)
      const lowered: typeof acquire = async (asks) =>
        (await acquire(asks)).map((answer) =>
          'granted' in answer && answer.granted ? { ...answer, grant: 5 } : answer,
        )
      if (before === 'a refusal') {
        inner.acquire = async (asks) =>
          asks.map(() => ({ error: new LockError('INVALID_OPTION', 'no table') }))
        end()
        await time.advance(10_000)
      }
      inner.acquire = lowered
      end()
      await time.advance(200_000)
      expect([terms, behind()]).toEqual([1, 1])
      inner.acquire = acquire
      await time.advance(60_000)
      expect([terms, election.isLeader]).toEqual([2, true])
      inner.acquire = lowered
      await election.resign()
      await time.advance(200_000)
      expect([terms, behind()]).toEqual([2, 2])
      await locks.close()
      expect(time.timers).toBe(0)
    },
  )
})
