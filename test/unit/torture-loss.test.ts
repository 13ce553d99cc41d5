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
      .evict(150, 160, 5)
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

  it('is broken by one whose release the store refused, and who is told that all was well', () => {
    const released = (ok: boolean, handOff = 0): Story => {
      const story = held().evict(150, 160, 5).note(300, 'w1', { is: 'release', id: 90 })
      story.step('w1', { step: 'release', owner: 'owner 5', sentAt: 301, repliedAt: 305, answer: 'no' })
      if (handOff > 0) {
        story.note(290, 'w1', { is: 'ask', id: 91, how: 'acquire', keys: ['k'], waitMs: 500, leaseMs: 3000 })
        story.note(300, 'w1', { is: 'granted', id: 91, tokens: [String(5120 + handOff)] })
      }
      return story.note(310, 'w1', { is: 'released', id: 90, ok })
    }
    expect(released(true).broken).toEqual(['G6'])
    expect(released(false).broken).toEqual([])
    const again = { step: 'release', owner: 'owner 5', sentAt: 308, repliedAt: 309, answer: 'no' } as const
    const yes = { ...again, sentAt: 301, repliedAt: 305, answer: 'yes' } as const
    const twice = held().note(300, 'w1', { is: 'release', id: 90 }).step('w1', yes).step('w1', again)
    expect(twice.note(310, 'w1', { is: 'released', id: 90, ok: true }).broken).toEqual([])
    const late = held('using').evict(150, 160, 5).note(300, 'w1', { is: 'release', id: 90 })
    late.step('w1', { ...yes, answer: 'no', repliedAt: 320 })
    expect(late.note(310, 'w1', { is: 'released', id: 90, ok: true }).broken).toEqual([])
    // The release is that of the next, to whom it was handed on.
    expect(released(true, 1).broken).not.toContain('G6')
  })
})

describe('G2 false alarm', () => {
  const renewal = {
    step: 'renew',
    owner: 'owner 5',
    sentAt: 1090,
    repliedAt: 1100,
    answer: 5,
    leaseMs: 3000,
  } as const
  const lost = (story: Story, at: number): string[] => story.note(at, 'w1', { is: 'lost', id: 90 }).broken
  const looks = (story: Story, at: number, isHeld: boolean): Story =>
    story.note(at, 'w1', { is: 'act', id: 90, key: 'k', token: '5120', held: isHeld })

  it('is a signal that fires long before its time, or a look at `held`', () => {
    expect(lost(held(), 2400)).toEqual(['G2'])
    expect(lost(held(), 2500)).toEqual([])
    expect(looks(held(), 2400, false).broken).toEqual(['G2'])
    expect(looks(held(), 2500, false).broken).toEqual([])
  })

  it('counts from the last renewal that was heard, for certain and in time', () => {
    expect(lost(held().step('w1', renewal), 2945)).toEqual(['G2'])
    expect(lost(held().step('w1', renewal), 3500)).toEqual([])
    // Given up before it was answered; or written down before a pause, and made after it.
    expect(lost(held().step('w1', { ...renewal, sentAt: 190, repliedAt: 2800 }), 2945)).toEqual([])
    expect(lost(held().step('w1', { ...renewal, repliedAt: 2600 }), 2945)).toEqual([])
    expect(lost(held().step('w1', renewal).pause('w1', 1000, 1080), 2945)).toEqual([])
  })

  it('has a reason if a renewal was refused, the key freed by force, or data lost', () => {
    const no = { ...renewal, answer: 'no' } as const
    expect(lost(held().evict(500, 510, 5).step('w1', no), 1101)).toEqual([])
    // Of the check of G4: nobody had taken it.
    expect(lost(held().step('w1', no), 1101)).toEqual(['G4'])
    expect(lost(held().step('w1', no), 1089)).toContain('G2')
    expect(lost(held().evict(500, 510, 5), 1101)).toEqual([])
    expect(lost(held().evict(500, 510, 4), 1101)).toEqual(['G2'])
    expect(lost(held().fault(500, 510, { loses: true }), 1101)).toEqual([])
    expect(lost(held().fault(500, 510), 1101)).toEqual(['G2'])
    expect(
      lost(
        held()
          .note(900, 'nemesis', { is: 'calm' })
          .note(1000, 'w1', { is: 'closing' })
          .note(1200, 'w1', { is: 'closed' })
          .died('w1', 1300),
        1101,
      ),
    ).toEqual([])
  })

  it('is taken back by one who sees it held again', () => {
    const evicted = (): Story => held().evict(500, 510, 5)
    expect(looks(looks(evicted(), 600, false), 700, false).broken).toEqual([])
    expect(looks(looks(evicted(), 600, true), 700, false).broken).toEqual([])
    expect(looks(looks(evicted(), 600, false), 700, true).broken).toEqual(['G2'])
    expect(lost(looks(evicted(), 700, true), 600)).toEqual(['G2'])
  })

  it('may be about any of several keys', () => {
    const both = (): Story =>
      new Story()
        .note(90, 'w1', { is: 'ask', id: 90, how: 'several', keys: ['k', 'b'], waitMs: 500, leaseMs: 3000 })
        .step('w1', {
          step: 'acquire',
          owner: 'owner 5',
          sentAt: 95,
          repliedAt: 97,
          answer: 5,
          leaseMs: 3000,
        })
        .step('w1', {
          step: 'acquire',
          owner: 'o',
          sentAt: 97,
          repliedAt: 99,
          answer: 6,
          leaseMs: 3000,
          key: 'b',
        })
        .note(100, 'w1', { is: 'granted', id: 90, tokens: ['5120', '6144'] })
    expect(lost(both(), 1000)).toEqual(['G2'])
    expect(lost(both().evict(500, 510, 5), 1000)).toEqual([])
  })
})

describe('G6 no false loss', () => {
  const release = { step: 'release', owner: 'owner 5', sentAt: 300, repliedAt: 305, answer: 'yes' } as const
  const ends = (story: Story, at: number, how: 'acquire' | 'using' = 'acquire'): string[] => {
    const end = how === 'using' ? ({ ok: null, code: 'LOCK_LOST' } as const) : ({ ok: false } as const)
    return story.note(300, 'w1', { is: 'release', id: 90 }).note(at, 'w1', { is: 'released', id: 90, ...end })
      .broken
  }

  it('is broken by an end that tells a loss although the store said yes', () => {
    expect(ends(held().step('w1', release), 310)).toEqual(['G6'])
    expect(ends(held('using').step('w1', release), 310, 'using')).toEqual(['G6'])
    // Passed on inside the process, or not at all.
    expect(ends(held(), 310)).toEqual(['G6'])
  })

  it('is not when the store said no, or nothing', () => {
    expect(
      ends(
        held()
          .evict(150, 160, 5)
          .step('w1', { ...release, answer: 'no' }),
        310,
      ),
    ).toEqual([])
    expect(ends(held().step('w1', { step: 'release', owner: 'owner 5', sentAt: 300 }), 310)).toEqual([])
  })

  it('is not when it was lost, or may have been', () => {
    expect(ends(held().evict(150, 160, 5).note(200, 'w1', { is: 'lost', id: 90 }), 310)).toEqual([])
    expect(ends(held().evict(150, 160, 5), 310)).toEqual([])
    expect(ends(held().fault(150, 160, { loses: true }), 310)).toEqual([])
    expect(ends(held(), 2600)).toEqual([])
    expect(ends(held().step('w1', { ...release, repliedAt: 2500 }), 2600)).toEqual(['G6'])
  })
})
