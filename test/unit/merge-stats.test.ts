import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergeStats } from '../../src/monitor/merge-stats.ts'
import { Stats } from '../../src/monitor/stats.ts'

const NOW = { held: 1, waiting: 2, pool: { open: 3, idle: 2, waiting: 1 } }

/** What one client has counted of these waits. */
function counted(service: string, waits: readonly number[]): Stats {
  const stats = new Stats(service)
  for (const ms of waits) {
    stats.counters.granted += 1
    stats.wait.record(ms)
    stats.steps.acquire.answered(1 + Math.floor(ms), ms)
  }
  return stats
}

describe('mergeStats', () => {
  it('gives for several clients what one would have counted of all', () => {
    const waits = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 30 })
    fc.assert(
      fc.property(fc.array(waits, { minLength: 1, maxLength: 5 }), (clients) => {
        const merged = mergeStats(clients.map((each) => counted('a', each).snapshot(NOW)))
        const alone = counted('a', clients.flat()).snapshot(NOW)
        expect(merged.granted).toBe(alone.granted)
        expect({ ...merged.wait, sumMs: 0 }).toEqual({ ...alone.wait, sumMs: 0 })
        expect(merged.wait.sumMs).toBeCloseTo(alone.wait.sumMs, 3)
        expect(merged.steps.acquire.sizes).toEqual(alone.steps.acquire.sizes)
        expect([merged.held, merged.waiting]).toEqual([clients.length, 2 * clients.length])
        expect(merged.pool?.open).toBe(3 * clients.length)
      }),
    )
  })

  it('adds conflicts of each pair of services, and of busy keys', () => {
    const clients = ['business', 'business', 'storage'].map((service) => {
      const stats = new Stats(service)
      stats.conflicts.add('storage', 2)
      stats.busyKeys.requested('stock:7')
      stats.busyKeys.requested(`of ${service}`)
      return stats.snapshot({ ...NOW, pool: null })
    })
    const { conflicts, busiest, pool } = mergeStats(clients)
    expect(conflicts).toEqual([
      { waiter: 'business', holder: 'storage', count: 4 },
      { waiter: 'storage', holder: 'storage', count: 2 },
    ])
    expect(busiest.map(({ key, requests }) => [key, requests])).toEqual([
      ['stock:7', 3],
      ['of business', 2],
      ['of storage', 1],
    ])
    expect(pool).toBeNull()
  })

  it('takes what has come as JSON from another process, also what was held for days', () => {
    const stats = new Stats('a')
    for (const ms of [1, 1, 1, 200_000_000]) {
      stats.hold.record(ms)
      stats.steps.acquire.answered(1_000_000, ms)
    }
    const alone = stats.snapshot(NOW)
    const merged = mergeStats([JSON.parse(JSON.stringify(alone)) as typeof alone])
    expect(merged.hold).toEqual(alone.hold)
    expect(merged.steps.acquire).toEqual(alone.steps.acquire)
  })

  it('of no client is all zero', () => {
    expect(mergeStats([])).toEqual(new Stats('').snapshot({ held: 0, waiting: 0, pool: null }))
  })
})
