import { describe, expect, it, vi } from 'vitest'
import type { Term } from '../../src/election.ts'
import type { VirtualTime } from './support/virtual-time.ts'
import { world } from './support/world.ts'

const LEASE_MS = 10_000
/** More than there are steps from a call of `elect` to the body. */
const MOMENTS = Array.from({ length: 60 }, (_, i) => i)

/** The process stands still, for as long as a lease, after the n-th call of that step. */
function stall(time: VirtualTime, step: 'now' | 'setTimer', moment: number): () => boolean {
  const own = time[step].bind(time) as (...given: unknown[]) => unknown
  let calls = 0
  const spy = vi.spyOn(time, step).mockImplementation(((...given: unknown[]) => {
    const result = own(...given)
    if (calls++ === moment) time.block(LEASE_MS)
    return result
  }) as never)
  return () => {
    spy.mockRestore()
    return calls > moment
  }
}

describe('a process that stands still while a term begins', () => {
  it.each(['now', 'setTimer'] as const)('G2 leads no more when another does: at any %s()', async (step) => {
    let stalled = 0
    for (const moment of MOMENTS) {
      const { time, locks, other } = world({ lease: LEASE_MS })
      const two = other({ lease: LEASE_MS })
      const diary: string[] = []
      locks.on('elected', ({ number }) => diary.push(`term ${number} begins`))
      locks.on('term-ended', ({ number, why }) => diary.push(`term ${number} ends: ${why}`))
      let inForce = 0
      // What a body throws ends its term and no more.
      const body = async ({ signal }: Term): Promise<void> => {
        // It may stand still between the last check and this line.
        if (signal.aborted) return
        if (inForce > 0) diary.push('two lead')
        inForce += 1
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        inForce -= 1
      }
      const happened = stall(time, step, moment)
      const first = locks.elect('boss', body)
      await time.settle()
      if (happened()) stalled += 1
      // It runs again, and with it what was due meanwhile. Nobody asks whether it leads.
      await time.advance(1)
      const second = two.elect('boss', body)
      await time.advance(5 * LEASE_MS)
      expect(inForce, `after ${moment}: ${diary.join()}`).toBe(1)
      expect(first.isLeader, `after ${moment}`).toBe(!second.isLeader)
      await Promise.all([first.stop(), time.advance(5 * LEASE_MS)])
      expect([first.isLeader, second.isLeader, inForce], `after ${moment}`).toEqual([false, true, 1])
      expect(diary.join(', ')).toMatch(/^(term (\d+) begins, term \2 ends: (lost|stopped)(, |$))*$/)
      await Promise.all([locks.close(), two.close()])
      expect(time.timers).toBe(0)
    }
    expect(stalled).toBeGreaterThan(3)
    expect(stalled).toBeLessThan(MOMENTS.length)
  })
})
