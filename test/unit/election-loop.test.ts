import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Election, ElectionLoop, Term } from '../../src/election.ts'
import { gate, track, world } from './support/world.ts'

describe('for await (const term of election)', () => {
  it('each turn of the loop is a term, and the next step steps down', async () => {
    const { time, locks, store } = world()
    const election = locks.elect('boss')
    const terms: Term[] = []
    const steps = [gate(), gate(), gate()]
    const loop = track(
      (async () => {
        for await (const term of election) {
          terms.push(term)
          await steps[terms.length - 1]?.promise
        }
      })(),
    )
    await time.settle()
    expect([terms.length, election.isLeader]).toEqual([1, true])
    steps[0]?.open()
    await time.settle()
    expect([election.isLeader, terms[0]?.signal.aborted, await store.heldKeys()]).toEqual([false, true, []])
    await time.advance(1250)
    expect([terms.length, election.isLeader]).toEqual([2, true])
    expect(terms[1]?.number).toBeGreaterThan(terms[0]?.number ?? 0)
    const stopped = track(election.stop())
    await time.settle()
    expect([terms[1]?.signal.aborted, stopped.settled, loop.settled]).toEqual([true, false, false])
    steps[1]?.open()
    await time.settle()
    expect([stopped.settled, loop.settled, terms.length, await store.heldKeys()]).toEqual([true, true, 2, []])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('does not stand before the loop does, nor while nobody waits for a term', async () => {
    const { time, locks, store } = world()
    const election = locks.elect('boss')
    await time.advance(5000)
    expect(store.calls).toEqual([])
    await election.stop()
    for await (const term of election) expect(term).toBe('never')
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it.each([
    ['break', null],
    ['an error', new Error('broken')],
  ])('left by %s: steps down and stands no more', async (_how, error) => {
    const { time, locks, store } = world()
    const ended: unknown[] = []
    locks.on('term-ended', ({ why }) => ended.push(why))
    const election = locks.elect('boss')
    const loop = track(
      (async () => {
        for await (const term of election) {
          term.assertLeader()
          if (error) throw error
          break
        }
        return store.heldKeys()
      })(),
    )
    await time.settle()
    expect(loop).toEqual({ settled: true, ...(error ? { error } : { value: [] }) })
    expect(ended).toEqual(['returned'])
    await time.advance(60_000)
    expect([election.isLeader, await store.heldKeys(), time.timers]).toEqual([false, [], 0])
    const again = locks.elect('boss')
    await again.stop()
    await locks.close()
  })

  it('close() ends a loop that waits, and waits no longer than the lease for one that does not heed', async () => {
    const { time, locks, other } = world({ lease: '10s' })
    const two = other()
    await two.acquire('a')
    const end = gate()
    const run = async (name: string): Promise<void> => {
      for await (const term of locks.elect(name)) {
        expect(term.name).toBe('b')
        await end.promise
      }
    }
    const loops = ['a', 'b'].map((name) => track(run(name)))
    await time.settle()
    const closed = track(locks.close())
    await time.settle()
    expect(loops.map(({ settled }) => settled)).toEqual([true, false])
    await time.advance(10_000)
    expect(closed.settled).toBe(true)
    end.open()
    await time.settle()
    expect(loops.map(({ settled }) => settled)).toEqual([true, true])
    await two.close()
    expect(time.timers).toBe(0)
  })

  it('left by a listener before the term is given: steps down and stands no more', async () => {
    const { time, locks, store } = world()
    const election = locks.elect('boss')
    const steps = election[Symbol.asyncIterator]()
    locks.on('elected', () => void steps.return?.())
    const step = track(steps.next())
    await time.settle()
    expect(step.value).toEqual({ done: true, value: undefined })
    expect([election.isLeader, await store.heldKeys()]).toEqual([false, []])
    await election.stop()
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('one loop takes all the terms; a second is refused', async () => {
    const { time, locks } = world()
    const election = locks.elect('boss')
    const steps = election[Symbol.asyncIterator]()
    expect(() => election[Symbol.asyncIterator]()).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
    const first = track(steps.next())
    await time.settle()
    expect(first.value).toMatchObject({ done: false, value: { name: 'boss' } })
    const second = track(steps.next())
    const third = track(steps.next())
    await time.settle()
    expect([second.settled, third.error]).toEqual([
      false,
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    ])
    await election.stop()
    expect(second.value).toEqual({ done: true, value: undefined })
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is an error for an election that has a function', async () => {
    const { time, locks } = world()
    const election = locks.elect('boss', () => {})
    expectTypeOf(election).toEqualTypeOf<Election>()
    expectTypeOf(locks.elect('other')).toEqualTypeOf<ElectionLoop>()
    const iterate = async (): Promise<void> => {
      for await (const term of election as ElectionLoop) term.assertLeader()
    }
    await expect(iterate()).rejects.toMatchObject({ code: 'INVALID_OPTION', message: /given a function/ })
    await locks.close()
    expect(time.timers).toBe(0)
  })
})
