import { describe, expect, it } from 'vitest'
import { mergeStats } from '../../src/monitor/merge-stats.ts'
import { Stats } from '../../src/monitor/stats.ts'
import type { ProblemJson, StatsJson } from '../../src/server/index.ts'
import { serverStage } from './support/server-stage.ts'

describe('the numbers of a fleet', () => {
  it('are shown instead of those of the client, and /metrics stays with the client', async () => {
    const other = new Stats('orders')
    other.counters.lost = 7
    const ofFleet = mergeStats([other.snapshot({ held: 3, waiting: 0, pool: null })])
    const { ask } = serverStage({ stats: async () => ofFleet })
    const { body } = await ask<StatsJson>('/api/stats')
    expect([body.fleet, body.stats.lost, body.stats.held]).toEqual([true, 7, 3])
    expect((await ask<string>('/metrics')).body).toMatch(/end="lost"\} 0/)
    expect((await serverStage().ask<StatsJson>('/api/stats')).body.fleet).toBe(false)
  })

  it('are 503 when they cannot be had, and nobody waits for ever', async () => {
    const failing = serverStage({ stats: () => Promise.reject(new Error('secret host')) })
    const refused = await failing.ask<ProblemJson>('/api/stats')
    expect([refused.status, refused.body.code]).toEqual([503, 'FLEET_UNAVAILABLE'])
    expect(JSON.stringify(refused.body)).not.toContain('secret')

    const hanging = serverStage({ stats: () => new Promise(() => {}) })
    const asked = hanging.ask<ProblemJson>('/api/stats')
    await hanging.time.advance(10_000)
    expect((await asked).body.code).toBe('FLEET_UNAVAILABLE')
  })
})
