import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

describe('G5 renewed for nobody', () => {
  const LEASE = { from: 100, to: 200, grant: 5 } as const
  /** A grant that came for one who had given up, and is kept. */
  const renewed = (sentAt: number): Story =>
    new Story()
      .hold('w1', LEASE)
      .step('w1', {
        step: 'acquire',
        owner: 'owner 6',
        sentAt: 190,
        repliedAt: 230,
        answer: 6,
        leaseMs: 9000,
      })
      .step('w1', {
        step: 'renew',
        owner: 'owner 6',
        sentAt,
        repliedAt: sentAt + 5,
        answer: 6,
        leaseMs: 9000,
      })

  it('is broken by a renewal long after the last one who asked has ended', () => {
    expect(renewed(3100).broken).toEqual([])
    expect(renewed(3300).broken).toEqual(['G5'])
  })

  it('is not when another one asks, holds or waits', () => {
    const asked = renewed(3300)
    asked.ask('w1', 3000, 5000)
    expect(asked.broken).not.toContain('G5')
    const other = renewed(3300)
    other.ask('w1', 3000, 5000, 'other')
    expect(other.broken).toContain('G5')
    expect(
      renewed(3300).hold('w1', { from: 800, to: 900, grant: 7, asks: false, releases: false }).broken,
    ).not.toContain('G5')
  })

  it('counts only the time in which the process ran', () => {
    expect(renewed(5300).pause('w1', 300, 3000).broken).toEqual([])
    expect(renewed(5300).pause('w2', 300, 3000).broken).toEqual(['G5'])
  })
})

describe('G9 slice', () => {
  const first = { from: 100, to: 150, grant: 5, releases: false } as const
  const handed = { grant: 5, asks: false, releases: false } as const
  const chain = (passedAt: number): Story =>
    new Story()
      .hold('w1', first)
      .hold('w1', { ...handed, handOff: 1, from: 160, to: passedAt })
      .hold('w1', { ...handed, handOff: 2, from: passedAt + 5, to: 900 })

  it('is broken by one who passes the key on long after it was granted to the first', () => {
    expect(chain(190).broken).toEqual([])
    expect(chain(205).broken).toEqual([])
    expect(chain(220).broken).toEqual(['G9'])
  })

  it('is about those who pass it on, not about the last, nor about another grant', () => {
    const own = { from: 100, to: 900, grant: 5 } as const
    expect(new Story().hold('w1', own).hold('w1', { from: 950, to: 990, grant: 6 }).broken).toEqual([])
  })

  it('is not about those who enter again', () => {
    const inner = { ...handed, from: 300, to: 400, how: 're-enter' } as const
    expect(
      new Story().hold('w1', { from: 100, to: 900, grant: 5, how: 'using' }).hold('w1', inner).broken,
    ).toEqual([])
  })
})
