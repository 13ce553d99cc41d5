import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { Term } from '../../src/election.ts'
import { leading } from './support/leading.ts'
import { gate, track, world } from './support/world.ts'

describe('resign()', () => {
  it('tells the body, waits for it, gives the key back, and lets another lead before it stands again', async () => {
    const { time, locks, other } = world()
    const two = other()
    const first: Term[] = []
    const end = gate()
    const election = locks.elect('boss', async (term) => {
      first.push(term)
      await end.promise
    })
    await time.settle()
    const second = leading()
    const rival = two.elect('boss', second.body)
    await time.settle()
    const resigned = track(election.resign())
    await time.settle()
    expect(first[0]?.signal.reason).toMatchObject({ code: 'LOCK_ABORTED', key: 'boss' })
    expect(() => first[0]?.assertLeader()).toThrow(/resign\(\) was called/)
    expect([resigned.settled, election.isLeader, second.terms.length]).toEqual([false, false, 0])
    end.open()
    // No time passes: the other is woken.
    await time.settle()
    expect([resigned.settled, rival.isLeader]).toEqual([true, true])
    await time.advance(60_000)
    expect([first.length, rival.isLeader]).toEqual([1, true])
    await two.close()
    await time.settle()
    expect(first.length).toBe(2)
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('keeps the lease while the body ends, however long it takes', async () => {
    const { time, locks, store, other } = world({ lease: '2s' })
    const end = gate()
    const ended: unknown[] = []
    locks.on('term-ended', ({ why }) => ended.push(why))
    const election = locks.elect('boss', () => end.promise)
    await time.settle()
    const rival = leading()
    const two = other()
    two.elect('boss', rival.body)
    const resigned = track(election.resign())
    await time.advance(20_000)
    expect([resigned.settled, rival.terms.length, await store.heldKeys()]).toEqual([false, 0, ['boss']])
    end.open()
    await time.settle()
    expect([resigned.settled, rival.terms.length, ended]).toEqual([true, 1, ['resigned']])
    await Promise.all([locks.close(), two.close()])
    expect(time.timers).toBe(0)
  })

  it('resolves at once where another leads, or during the pause', async () => {
    const { time, locks, other } = world()
    const two = other()
    const rival = leading()
    two.elect('boss', rival.body)
    await time.settle()
    const election = locks.elect('boss', () => {})
    await time.settle()
    await election.resign()
    expect(rival.terms[0]?.signal.aborted).toBe(false)
    await two.close()
    await time.advance(100)
    await election.resign()
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('by the body itself does not wait for the body', async () => {
    const { time, locks } = world()
    const ended: unknown[] = []
    locks.on('term-ended', ({ why }) => ended.push(why))
    const election = locks.elect('boss', async () => {
      await election.resign()
      await election.stop()
    })
    await time.settle()
    expect(ended).toEqual(['resigned'])
    await election.stop()
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

describe('stop()', () => {
  it('ends the term, gives the key back, stands no more, and may be called again', async () => {
    const { time, locks, store } = world()
    const { terms, body } = leading()
    const ended: unknown[] = []
    locks.on('term-ended', ({ why, error }) => ended.push([why, error]))
    const election = locks.elect('boss', async (term) => {
      await body(term)
      throw term.signal.reason
    })
    await time.settle()
    await Promise.all([election.stop(), election.stop()])
    expect(await store.heldKeys()).toEqual([])
    // Thrown because the signal said so: no error of its own.
    expect(ended).toEqual([['stopped', undefined]])
    await time.advance(60_000)
    expect([terms.length, election.isLeader]).toEqual([1, false])
    await election.stop()
    await election[Symbol.asyncDispose]()
    expect(time.timers).toBe(0)
    await locks.close()
  })

  it('while it waits or pauses: at once, and nothing is left', async () => {
    const { time, locks, other } = world()
    const two = other()
    const lease = await two.acquire('boss')
    const election = locks.elect('boss', () => {})
    await time.advance(1000)
    expect(locks.stats().waiting).toBe(1)
    await election.stop()
    expect(locks.stats().waiting).toBe(0)
    await lease.release()
    const pausing = locks.elect('boss', () => {})
    await time.advance(700)
    await pausing.stop()
    await two.close()
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('reports an error of the body that has nothing to do with the signal', async () => {
    const { time, locks } = world()
    const ended: unknown[] = []
    locks.on('term-ended', ({ why, error }) => ended.push([why, error]))
    const { body } = leading()
    const election = locks.elect('boss', async (term) => {
      await body(term)
      throw new Error('could not flush')
    })
    await time.settle()
    await election.stop()
    expect(ended).toEqual([['stopped', new Error('could not flush')]])
    await locks.close()
  })

  it('comes from the signal, too; one that is aborted before never stands', async () => {
    const { time, locks, store } = world()
    const { terms, body } = leading()
    const controller = new AbortController()
    const election = locks.elect('boss', body, { signal: controller.signal })
    await time.settle()
    controller.abort(new Error('shutting down'))
    await time.settle()
    expect(terms[0]?.signal.reason).toMatchObject({ code: 'LOCK_ABORTED', cause: new Error('shutting down') })
    expect([election.isLeader, await store.heldKeys()]).toEqual([false, []])
    const late = locks.elect('boss', body, { signal: controller.signal })
    await time.advance(5000)
    await late.stop()
    expect(terms).toHaveLength(1)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const quiet = new AbortController()
    await locks.elect('boss', body, { signal: quiet.signal }).stop()
    expect(getEventListeners(quiet.signal, 'abort')).toEqual([])
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

describe('leader()', () => {
  it('names service, instance, context and since when, by the clock of the store', async () => {
    const { time, locks, other } = world()
    const two = other()
    const { body } = leading()
    const election = locks.elect('boss', body, { context: 'the only writer' })
    const rival = two.elect('boss', () => {})
    expect(await rival.leader()).toBeNull()
    await time.settle()
    const since = 1_700_000_000_000 + time.now()
    await time.advance(45_000)
    expect(await rival.leader()).toEqual({
      service: 'one',
      instance: 'one',
      context: 'the only writer',
      since,
    })
    await Promise.all([election.stop(), rival.stop()])
    two.elect('boss', leading().body)
    await time.settle()
    expect(await election.leader()).toMatchObject({ service: 'two' })
    await Promise.all([locks.close(), two.close()])
    await expect(election.leader()).rejects.toMatchObject({ code: 'CLOSED' })
    expect(time.timers).toBe(0)
  })
})
