import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

describe('G3 own token', () => {
  const LEASE = { from: 100, to: 200, grant: 5 } as const
  /** The first number of a story is the id of its lease. */
  const story = (): Story => new Story().hold('w1', LEASE).hold('w2', { from: 300, to: 400, grant: 6 })
  const acts = (id: number, token: number, key = 'k'): string[] =>
    story().note(150, 'w1', { is: 'act', id, key, token: String(token), held: true }).broken
  const writes = (worker: string, id: number, token: number, at = 150, key = 'k'): string[] =>
    story().note(at, 'resource', { is: 'written', worker, id, key, token: String(token), guarded: 'taken' })
      .broken

  it('is broken by one who acts under another token than that of its lease', () => {
    expect(acts(1, 5120)).toEqual([])
    for (const token of [5121, 6144, 4096]) expect(acts(1, token)).toEqual(['G3'])
    expect(acts(1, 5120, 'other')).toEqual(['G3'])
  })

  it('is broken by one who writes under another token, or before it was given it', () => {
    expect(writes('w1', 1, 5120)).toEqual([])
    // Between the look and the write time passes.
    expect(writes('w1', 1, 5120, 9000)).toEqual([])
    expect(writes('w1', 1, 5121)).toEqual(['G3'])
    expect(writes('w1', 1, 5120, 99)).toEqual(['G3'])
    expect(writes('w1', 1, 5120, 150, 'other')).toEqual(['G3'])
    expect(writes('w1', 77, 5120)).toEqual(['G3'])
    expect(writes('w3', 1, 5120)).toEqual(['G3'])
  })

  it('is broken by a token whose number the store gave to another', () => {
    const same = { from: 120, to: 180, grant: 5, handOff: 1, asks: false, releases: false } as const
    expect(new Story().hold('w1', LEASE).hold('w2', same).broken).toContain('G3')
    const next = { ...same, from: 210, to: 220 } as const
    expect(new Story().hold('w1', { ...LEASE, releases: false }).hold('w1', next).broken).toEqual([])
  })

  it('is that of the lease around it for one who enters again, and one for each key of several', () => {
    const inner = { ...LEASE, from: 120, to: 150, how: 're-enter', asks: false, releases: false } as const
    expect(new Story().hold('w1', { ...LEASE, how: 'using' }).hold('w1', inner).broken).toEqual([])
    const keys = ['a', 'b']
    const both = (token: string): string[] =>
      new Story()
        .born('w1', 0)
        .step('w1', { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 97, answer: 5, key: 'a' })
        .step('w1', { step: 'acquire', owner: 'owner 6', sentAt: 97, repliedAt: 99, answer: 6, key: 'b' })
        .note(90, 'w1', { is: 'ask', id: 90, how: 'several', keys, waitMs: 500, leaseMs: 1000 })
        .note(100, 'w1', { is: 'granted', id: 90, tokens: ['5120', '6144'] })
        .note(110, 'w1', { is: 'act', id: 90, key: 'b', token, held: true }).broken
    expect(both('6144')).toEqual([])
    expect(both('5120')).toEqual(['G3'])
  })
})
