import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

/** Until when it was held is not known. */
const LOSER = { from: 100, to: 200, grant: 5, releases: false, ok: false } as const
const OTHER = { from: 150, to: 250, grant: 6 } as const

/** No one looks at `held`: only the store's answers are there to be judged. */
function granted(story: Story, by: string, grant: number, sentAt: number, repliedAt: number): Story {
  return story.step(by, { step: 'acquire', owner: `owner ${grant}`, sentAt, repliedAt, answer: grant })
}

describe('G1 among holders', () => {
  it('is kept by holders who come one after the other', () => {
    const story = new Story()
      .hold('w1', { from: 100, to: 200, grant: 5 })
      .hold('w2', { from: 220, to: 300, grant: 6 })
    expect(story.broken).toEqual([])
  })

  it('is broken by two at one time, and the models say so too', () => {
    expect(new Story().hold('w1', LOSER).hold('w2', OTHER).broken).toEqual(['G1', 'model'])
  })

  it('is broken by a hand-off inside a process that comes too early', () => {
    const early = { grant: 5, handOff: 1, asks: false, releases: false }
    const first = { from: 100, to: 200, grant: 5, releases: false }
    expect(new Story().hold('w1', first).hold('w1', { ...early, from: 150, to: 250 }).broken).toEqual([
      'G1',
      'model',
    ])
    expect(new Story().hold('w1', first).hold('w1', { ...early, from: 201, to: 250 }).broken).toEqual([])
  })

  it('is judged for all of them, not for the first two', () => {
    const handed = { grant: 5, asks: false, releases: false }
    const story = new Story()
      .hold('w1', { from: 20, to: 50, grant: 5, releases: false })
      .hold('w1', { ...handed, from: 60, to: 110, handOff: 1 })
      .hold('w1', { ...handed, from: 90, to: 250, handOff: 2 })
    expect(story.broken).toEqual(['G1', 'model'])
    expect(story.figures).toMatchObject({ piecesChecked: 2 })
  })

  it('lets a lease be entered again inside itself', () => {
    const inner = { from: 120, to: 150, grant: 5, how: 're-enter', asks: false, releases: false } as const
    const story = new Story().hold('w1', { from: 100, to: 200, grant: 5, how: 'using' }).hold('w1', inner)
    expect(story.broken).toEqual([])
  })

  it('is void, and counted, when the store forgot in between', () => {
    const story = new Story().hold('w1', LOSER).fault(120, 130, { loses: true }).hold('w2', OTHER)
    expect(story.broken).toEqual([])
    expect(story.figures).toMatchObject({ overlapsExcused: 2, piecesExcused: 1 })
  })

  it('is not void for a loss of data before both, nor for a fault that loses nothing', () => {
    const overlap = (): Story => new Story().hold('w1', LOSER).hold('w2', OTHER)
    expect(overlap().fault(60, 80, { loses: true }).broken).toEqual(['G1', 'model'])
    expect(overlap().fault(120, 130).broken).toEqual(['G1', 'model'])
  })

  it('is void after a forced release of that very grant, or one of which nobody knows', () => {
    const overlap = (): Story => new Story().hold('w1', LOSER).hold('w2', OTHER)
    expect(overlap().evict(120, 130, 5).broken).toEqual([])
    expect(overlap().evict(120, 130, null).broken).toEqual([])
    expect(overlap().evict(120, 130, 0).broken).toEqual(['G1', 'model'])
    expect(overlap().evict(120, 130, 4).broken).toContain('G1')
  })

  it('is not void after a forced release of the later one', () => {
    const early = { step: 'release', owner: 'owner 5', sentAt: 120, repliedAt: 125, answer: 'yes' } as const
    const later = { ...OTHER, releases: false, ok: false }
    const story = new Story().hold('w1', LOSER).step('w1', early).hold('w2', later)
    expect(story.evict(160, 170, 6).broken).toEqual(['G1'])
  })

  it('is judged for two that overlap while a third does that was freed by force', () => {
    const freed = { from: 100, to: 900, grant: 5, releases: false, ok: false } as const
    const handed = { grant: 6, handOff: 1, asks: false } as const
    const story = new Story()
      .hold('w1', freed)
      .evict(110, 120, 5)
      .hold('w2', { from: 200, to: 290, grant: 6, releases: false })
    expect(story.broken).toEqual([])
    expect(story.hold('w2', { ...handed, from: 250, to: 500 }).broken).toEqual(['G1'])
  })

  it('has no excuse inside a process: a hand-off does not ask the store', () => {
    const handed = { grant: 5, handOff: 1, asks: false, releases: false } as const
    const story = new Story().hold('w1', { ...LOSER, ok: true }).hold('w1', { ...handed, from: 150, to: 250 })
    expect(story.fault(120, 130, { loses: true }).evict(120, 130, 5).broken).toEqual(['G1'])
  })
})

describe('G1 at the store', () => {
  it('takes a lease for run out only when it must have', () => {
    const next = (sentAt: number): string[] =>
      granted(granted(new Story(), 'w1', 5, 100, 110), 'w2', 6, sentAt, sentAt + 10).broken
    expect(next(900)).toEqual(['G1'])
    expect(next(1090)).toEqual([])
  })

  it('counts a lease from its last confirmed renewal, and one without a reply not at all', () => {
    const renewed = (repliedAt?: number): Story =>
      granted(granted(new Story(), 'w1', 5, 100, 110), 'w2', 6, 1150, 1160).step('w1', {
        step: 'renew',
        owner: 'owner 5',
        sentAt: 500,
        answer: 5,
        ...(repliedAt === undefined ? {} : { repliedAt }),
      })
    expect(renewed(510).broken).toEqual(['G1'])
    expect(renewed().broken).toEqual([])
  })

  it('takes a key for free as soon as a release was sent', () => {
    const story = granted(granted(new Story(), 'w1', 5, 100, 110), 'w2', 6, 201, 220)
    expect(story.step('w1', { step: 'release', owner: 'owner 5', sentAt: 200 }).broken).toEqual([])
    const late = granted(granted(new Story(), 'w1', 5, 100, 110), 'w2', 6, 150, 190)
    expect(late.step('w1', { step: 'release', owner: 'owner 5', sentAt: 200 }).broken).toEqual(['G1'])
  })

  it('finds nothing where the two calls may have come in either order', () => {
    const story = granted(granted(new Story(), 'w1', 5, 100, 300), 'w2', 6, 150, 250)
    expect(story.step('w1', { step: 'release', owner: 'owner 5', sentAt: 200 }).broken).toEqual([])
  })

  it('is judged between losses of data, not across them', () => {
    // What the first was told came back after the loss, and the second was forgotten.
    const story = granted(granted(new Story(), 'w1', 5, 100, 110), 'w2', 6, 320, 330)
      .step('w1', { step: 'release', owner: 'owner 5', sentAt: 310 })
      .step('w1', { step: 'renew', owner: 'owner 5', sentAt: 600, repliedAt: 610, answer: 5 })
    expect(story.broken).toEqual(['G1'])
    expect(story.fault(400, 500, { loses: true }).broken).toEqual([])
    expect(story.figures.overlapsExcused).toBe(1)
  })
})
