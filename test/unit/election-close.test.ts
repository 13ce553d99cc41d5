import { describe, expect, it } from 'vitest'
import { gate, track, world } from './support/world.ts'

describe('close()', () => {
  it('G12 tells the body, waits for it, and leaves nothing', async () => {
    const { time, locks, store } = world()
    const end = gate()
    const ended: unknown[] = []
    locks.on('term-ended', ({ why }) => ended.push(why))
    let reason: unknown
    const election = locks.elect('boss', async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      reason = signal.reason
      await end.promise
    })
    await time.settle()
    const closed = track(locks.close())
    await time.settle()
    expect(reason).toMatchObject({ code: 'CLOSED' })
    expect([closed.settled, await store.heldKeys()]).toEqual([false, ['boss']])
    end.open()
    await time.settle()
    expect([closed.settled, ended, await store.heldKeys()]).toEqual([true, ['closed'], []])
    await election.stop()
    expect(time.timers).toBe(0)
    expect(() => locks.elect('boss', () => {})).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  it('ends those who wait and those who pause', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('a')
    const elections = ['a', 'b'].map((name) => locks.elect(name, () => {}))
    await time.settle()
    await locks.close()
    await Promise.all(elections.map((election) => election.stop()))
    await two.close()
    await time.advance(1000)
    expect(time.timers).toBe(0)
  })

  it('waits for a body that ignores its signal no longer than for the lease, and reports it', async () => {
    const { time, locks, store } = world({ lease: '10s' })
    const overdue: number[] = []
    locks.on('term-overrun', ({ overdueMs }) => overdue.push(overdueMs))
    const end = gate()
    const election = locks.elect('boss', () => end.promise)
    await time.settle()
    const closed = track(locks.close())
    await time.advance(9000)
    expect([closed.settled, overdue.length]).toEqual([false, 1])
    await time.advance(1000)
    expect(closed.settled).toBe(true)
    expect(time.timers).toBe(0)
    const stopped = track(election.stop())
    end.open()
    await time.settle()
    expect([stopped.settled, overdue.length, await store.heldKeys()]).toEqual([true, 1, []])
    expect(time.timers).toBe(0)
  })

  it('reports at once a body that has lost its lease and still runs', async () => {
    const { time, locks } = world({ lease: '10s' })
    let overruns = 0
    locks.on('term-overrun', () => (overruns += 1))
    const end = gate()
    locks.elect('boss', () => end.promise)
    await time.settle()
    await locks.forceRelease('boss')
    await time.advance(100)
    await locks.close()
    expect([overruns, time.timers]).toEqual([1, 0])
    end.open()
    await time.settle()
    expect(time.timers).toBe(0)
  })
})
