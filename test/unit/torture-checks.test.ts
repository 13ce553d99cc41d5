import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

const LEASE = { from: 100, to: 200, grant: 5 }

describe('G2 early word', () => {
  it('is broken by one who sees `held` when the word of its loss was due', () => {
    expect(new Story().hold('w1', { ...LEASE, to: 1040 }).broken).toEqual([])
    // Sent at 95, for 1000 ms, with a margin of 50 ms.
    expect(new Story().hold('w1', { ...LEASE, to: 1050 }).broken).toEqual(['G2'])
  })

  it('counts from a renewal that was answered, and only then', () => {
    const renewed = (repliedAt: number): Story =>
      new Story()
        .hold('w1', { ...LEASE, to: 1300 })
        .step('w1', { step: 'renew', owner: 'owner 5', sentAt: 400, repliedAt, answer: 5 })
    expect(renewed(410).broken).toEqual([])
    expect(renewed(1299.5).broken).toEqual(['G2'])
  })

  it('is broken by a lease that no store gave', () => {
    expect(new Story().hold('w1', { ...LEASE, asks: false, releases: false }).broken).toEqual(['G2'])
  })
})

describe('G3 rising tokens', () => {
  it('is broken by a lower token for one who asked later, whatever the store lost', () => {
    const story = new Story().hold('w1', LEASE).hold('w2', { from: 300, to: 400, grant: 4 })
    expect(story.broken).toContain('G3')
    expect(story.fault(220, 230, { loses: true }).broken).toEqual(['G3'])
  })

  it('does not compare those who asked at the same time', () => {
    const story = new Story().hold('w1', { ...LEASE, grant: 6, askedAt: 10 })
    expect(story.hold('w2', { from: 50, to: 60, grant: 5, askedAt: 10 }).broken).toEqual([])
  })

  it('is broken by a token that is given out twice', () => {
    expect(new Story().hold('w1', LEASE).hold('w2', { from: 300, to: 400, grant: 5 }).broken).toContain('G3')
  })
})

describe('the guard', () => {
  it('may refuse what is late, and take what is not', () => {
    const story = new Story()
      .write(1, 7, 'taken')
      .write(2, 7, 'taken')
      .write(3, 6, 'stale')
      .write(4, 8, 'taken')
    expect(story.broken).toEqual([])
    expect(story.figures).toMatchObject({ guardedTaken: 3, guardedStale: 1, unguardedWentBack: 1 })
  })

  it('is broken if it goes back, or refuses what is not late', () => {
    expect(new Story().write(1, 7, 'taken').write(2, 6, 'taken').broken).toEqual(['guard'])
    expect(new Story().write(1, 7, 'taken').write(2, 7, 'stale').broken).toEqual(['guard'])
  })
})

describe('G4 owner only', () => {
  const release = { step: 'release', owner: 'owner 5', answer: 'yes' } as const
  const renewal = { step: 'renew', owner: 'owner 5', answer: 5 } as const

  it('is broken by a yes to one who never asked', () => {
    expect(new Story().step('w1', { ...release, sentAt: 10, repliedAt: 20 }).broken).toEqual(['G4'])
  })

  it('is broken by a yes to one who has released, unless an ask of it may have come late', () => {
    const again = { ...release, sentAt: 300, repliedAt: 310 }
    expect(new Story().hold('w1', LEASE).step('w1', again).broken).toEqual(['G4'])
    const stray = { step: 'acquire', owner: 'owner 5', sentAt: 96 } as const
    expect(new Story().hold('w1', LEASE).step('w1', stray).step('w1', again).broken).toEqual([])
    expect(new Story().hold('w1', LEASE).step('w1', again).fault(210, 220, { loses: true }).broken).toEqual(
      [],
    )
  })

  it('is broken by a yes to a release while another holds the key', () => {
    const story = new Story()
      .step('w1', { step: 'acquire', owner: 'owner 5', sentAt: 10, leaseMs: 100 })
      .hold('w2', { ...LEASE, grant: 6 })
    expect(story.step('w1', { ...release, sentAt: 120, repliedAt: 130 }).broken).toEqual(['G4'])
  })

  it('is broken by a renewal of a lease that has run out or was freed by force', () => {
    const lost = (): Story =>
      new Story().step('w1', { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5 })
    expect(lost().step('w1', { ...renewal, sentAt: 1090, repliedAt: 1110 }).broken).toEqual([])
    expect(lost().step('w1', { ...renewal, sentAt: 1110, repliedAt: 1120 }).broken).toEqual(['G4'])
    expect(
      lost()
        .evict(200, 210, 5)
        .step('w1', { ...renewal, sentAt: 220, repliedAt: 230 }).broken,
    ).toEqual(['G4'])
  })
})

describe('G5 nothing left', () => {
  it('is broken by a key that is held for nobody', () => {
    expect(new Story().note(1, 'nemesis', { is: 'left', keys: [] }).broken).toEqual([])
    expect(new Story().note(1, 'nemesis', { is: 'left', keys: ['k'] }).broken).toEqual(['G5'])
  })
})

describe('G7 calm', () => {
  it('is broken by a process that dies by itself', () => {
    expect(new Story().born('w1', 0).died('w1', 10, 'SIGKILL', true).broken).toEqual([])
    expect(new Story().born('w1', 0).died('w1', 10, '1', false).broken).toEqual(['G7'])
  })

  it('is broken by an ask that is never answered, unless its process was killed', () => {
    const asked = (): Story => {
      const story = new Story().born('w1', 0)
      story.ask('w1', 10)
      return story
    }
    expect(asked().died('w1', 500, 'SIGKILL').broken).toEqual([])
    expect(asked().died('w1', 500, '0').broken).toEqual(['G7'])
    expect(asked().died('w1', 60_000, 'SIGKILL').broken).toEqual(['G7'])
  })

  it('counts only the time in which the worker ran and no fault was on it', () => {
    const answered = (): Story => {
      const story = new Story().born('w1', 0).born('w2', 0)
      return story.note(12_000, 'w1', {
        is: 'refused',
        id: story.ask('w1', 10),
        code: 'LOCK_ACQUIRE_TIMEOUT',
      })
    }
    expect(answered().broken).toEqual(['G7'])
    expect(answered().fault(100, 6000, { target: 'w1' }).broken).toEqual([])
    expect(answered().fault(100, 6000, { target: 'server 1' }).broken).toEqual([])
    expect(answered().fault(100, 6000).fault(200, 300).broken).toEqual([])
    expect(answered().fault(100, 6000, { target: 'w2' }).broken).toEqual(['G7'])
    const blocked = answered().note(100, 'w1', { is: 'block', ms: 5900 }).note(6000, 'w1', { is: 'unblock' })
    expect(blocked.broken).toEqual([])
  })

  it('is broken by one who waits and does nothing to get the key when all is calm', () => {
    const waiting = (): Story => {
      const story = new Story().born('w1', 0).note(5, 'nemesis', { is: 'calm' })
      return story.note(15_000, 'w1', {
        is: 'refused',
        id: story.ask('w1', 10, 15_000),
        code: 'LOCK_ACQUIRE_TIMEOUT',
      })
    }
    const poll = { step: 'acquire', owner: 'owner 5', answer: 'no' } as const
    expect(waiting().step('w1', { ...poll, sentAt: 7000, repliedAt: 7001 }).broken).toEqual([])
    expect(waiting().step('w1', { ...poll, sentAt: 20, repliedAt: 30 }).broken).toEqual(['G7'])
  })
})

describe('G8 in order', () => {
  const second = { from: 300, to: 400, grant: 6 }

  it('is broken by one who asked later and gets the key before', () => {
    const inOrder = new Story().hold('w1', { ...LEASE, askedAt: 10 }).hold('w1', { ...second, askedAt: 20 })
    expect(inOrder.broken).toEqual([])
    const turned = (by: string): Story =>
      new Story().hold('w1', { ...LEASE, askedAt: 20 }).hold(by, { ...second, askedAt: 10 })
    expect(turned('w1').broken).toEqual(['G8'])
    expect(turned('w2').broken).toEqual([])
  })

  it('is not promised to those who do not wait', () => {
    const tries = { ...LEASE, askedAt: 20, how: 'try', waitMs: 0 } as const
    expect(new Story().hold('w1', tries).hold('w1', { ...second, askedAt: 10 }).broken).toEqual([])
  })

  it('is not promised to those who enter again', () => {
    const inner = { from: 120, to: 150, grant: 5, how: 're-enter', asks: false, releases: false } as const
    const story = new Story().hold('w1', { ...LEASE, how: 'using' }).hold('w1', { ...second, askedAt: 105 })
    expect(story.hold('w1', inner).broken).toEqual([])
  })
})

describe('G10 re-entry', () => {
  const inner = { from: 120, to: 150, how: 're-enter', releases: false } as const

  it('is broken by a token of its own, and by a call to the store', () => {
    const outer = (): Story => new Story().hold('w1', { ...LEASE, how: 'using' })
    expect(outer().hold('w1', { ...inner, grant: 5, asks: false }).broken).toEqual([])
    expect(outer().hold('w1', { ...inner, grant: 6, asks: false }).broken).toContain('G10')
    expect(outer().hold('w1', { ...inner, grant: 5, asks: true }).broken).toEqual(['G10'])
  })
})

describe('G12 nothing left after close', () => {
  const closing = (): Story =>
    new Story().born('w1', 0).note(1, 'nemesis', { is: 'calm' }).note(10, 'w1', { is: 'closing' })
  const closed = (): Story => closing().note(20, 'w1', { is: 'closed' })

  it('is broken by a close that does not end, and by a process that lives on or fails', () => {
    expect(closed().died('w1', 30).broken).toEqual([])
    expect(closing().died('w1', 30).broken).toEqual(['G12'])
    expect(closed().broken).toEqual(['G12'])
    expect(closed().died('w1', 30, 'SIGKILL').broken).toEqual(['G12'])
    expect(closed().died('w1', 30, '1', false).broken).toEqual(['G12', 'G7'])
  })
})
