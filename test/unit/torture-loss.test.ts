import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

/** Sent at 95 for 3 s, so that word is due at 2945 if nothing is heard before. */
function held(how: 'acquire' | 'using' = 'acquire'): Story {
  return new Story()
    .born('w1', 0)
    .note(90, 'w1', { is: 'ask', id: 90, how, keys: ['k'], waitMs: 500, leaseMs: 3000 })
    .step('w1', {
      ...{ step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5, leaseMs: 3000 },
    })
    .note(100, 'w1', { is: 'granted', id: 90, tokens: ['5120'] })
}

describe('G2 refused renewal', () => {
  const no = { step: 'renew', owner: 'owner 5', sentAt: 1090, repliedAt: 1100, answer: 'no' } as const
  // So that the store may say no.
  const refused = (): Story => held().evict(500, 510, 5).step('w1', no)
  const looks = (story: Story, at: number): Story =>
    story.note(at, 'w1', { is: 'act', id: 90, key: 'k', token: '5120', held: true })

  it('is broken by one who has no word of it, or sees `held` after it', () => {
    expect(refused().note(1101, 'w1', { is: 'lost', id: 90 }).broken).toEqual([])
    expect(refused().note(1900, 'w1', { is: 'lost', id: 90 }).broken).toEqual(['G2'])
    expect(refused().note(1900, 'w1', { is: 'release', id: 90 }).broken).toEqual(['G2'])
    expect(looks(refused(), 1900).broken).toEqual(['G2'])
    expect(looks(refused().note(1101, 'w1', { is: 'lost', id: 90 }), 1900).broken).toEqual(['G2'])
    // The last that was seen of it: it may not have run since.
    expect(refused().died('w1', 2500, 'SIGKILL').broken).toEqual([])
  })

  it('counts only the time in which the process ran', () => {
    const told = (): Story => refused().note(1900, 'w1', { is: 'lost', id: 90 })
    expect(told().pause('w1', 1100, 1800).broken).toEqual([])
    const block = { is: 'block', ms: 600, starved: true } as const
    expect(told().note(1150, 'w1', block).note(1800, 'w1', { is: 'unblock' }).broken).toEqual([])
  })

  it('is not asked of an answer that came after its call had been given up', () => {
    const late = held()
      .evict(80, 85, 5)
      .step('w1', { ...no, sentAt: 96, repliedAt: 2700 })
    expect(late.evict(500, 510, 5).note(2940, 'w1', { is: 'release', id: 90 }).broken).toEqual([])
  })

  it('is about that grant, not about one of before', () => {
    const story = new Story().hold('w1', { from: 100, to: 200, grant: 5 })
    const again = { ...no, sentAt: 300, repliedAt: 310 }
    expect(story.step('w1', again).hold('w1', { from: 400, to: 1300, grant: 6 }).broken).toEqual([])
  })
})

describe('G6 a loss is told', () => {
  const ended = (how: 'acquire' | 'using', ok: boolean | null, lostAt: number): string[] =>
    held(how)
      .note(lostAt, 'w1', { is: 'lost', id: 90 })
      .note(300, 'w1', { is: 'release', id: 90 })
      .note(310, 'w1', { is: 'released', id: 90, ok, ...(ok === null && { code: 'LOCK_LOST' }) }).broken

  it('is broken by one who had word of it, and is told at the end that all was well', () => {
    expect(ended('acquire', true, 200)).toEqual(['G6'])
    expect(ended('using', true, 200)).toEqual(['G6'])
    expect(ended('acquire', false, 200)).toEqual([])
    expect(ended('using', null, 200)).toEqual([])
  })

  it('is not asked of a loss after its end began', () => {
    expect(ended('acquire', true, 305)).toEqual([])
  })
})
