import { describe, expect, it } from 'vitest'
import { check } from '../torture/check.ts'
import type { Listed } from '../torture/history.ts'
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

describe('G2 word comes', () => {
  /** Sent at 95, for 1000 ms, with a margin of 50 ms: word is due at 1045. */
  const held = (): Story =>
    new Story()
      .born('w1', 0)
      .note(90, 'w1', { is: 'ask', id: 90, how: 'acquire', keys: ['k'], waitMs: 500, leaseMs: 1000 })
      .step('w1', { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5 })
      .note(100, 'w1', { is: 'granted', id: 90, tokens: ['5120'] })
  const given = (at: number): Story => held().note(at, 'w1', { is: 'release', id: 90 })

  it('is broken by a signal that never fires, or late', () => {
    expect(given(2000).broken).toEqual([])
    expect(given(2100).broken).toEqual(['G2'])
    expect(given(9000).note(1050, 'w1', { is: 'lost', id: 90 }).broken).toEqual([])
    expect(given(9000).note(2100, 'w1', { is: 'lost', id: 90 }).broken).toEqual(['G2'])
    expect(held().died('w1', 2000, 'SIGKILL').broken).toEqual([])
    expect(held().died('w1', 2100, 'SIGKILL').broken).toEqual(['G2'])
  })

  it('waits for as long as the lease is renewed', () => {
    const renewed = { step: 'renew', owner: 'owner 5', sentAt: 700, repliedAt: 710, answer: 5 } as const
    expect(given(2600).step('w1', renewed).broken).toEqual([])
    expect(given(2700).step('w1', renewed).broken).toEqual(['G2'])
  })

  it('is not due before the lease is there, of which a key may be lost by then', () => {
    const keys = ['k', 'other']
    const late = {
      step: 'acquire',
      owner: 'owner 6',
      sentAt: 2500,
      repliedAt: 2501,
      answer: 6,
      key: 'other',
    } as const
    const granted = (lostAt: number): string[] =>
      new Story()
        .born('w1', 0)
        .note(90, 'w1', { is: 'ask', id: 90, how: 'several', keys, waitMs: 5000, leaseMs: 1000 })
        .step('w1', { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5 })
        .step('w1', late)
        .note(2502, 'w1', { is: 'granted', id: 90, tokens: ['5120', '6144'] })
        .note(lostAt, 'w1', { is: 'lost', id: 90 }).broken
    expect(granted(2503)).toEqual([])
    expect(granted(3600)).toEqual(['G2'])
  })

  it('counts only the time in which the process ran', () => {
    expect(given(2900).pause('w1', 1000, 2000).broken).toEqual([])
    expect(given(2900).pause('w2', 1000, 2000).broken).toEqual(['G2'])
    expect(given(2900).fault(1000, 2000, { target: 'w1' }).broken).toEqual(['G2'])
    const blocked = given(2900)
      .note(1000, 'w1', { is: 'block', ms: 1000 })
      .note(2000, 'w1', { is: 'unblock' })
    expect(blocked.broken).toEqual([])
  })
})

describe('G3 rising tokens', () => {
  it('is broken by a lower token for one who asked later, whatever the store lost', () => {
    const story = new Story().hold('w1', LEASE).hold('w2', { from: 300, to: 400, grant: 4 })
    expect(story.broken).toContain('G3')
    expect(story.fault(220, 230, { loses: true }).broken).toEqual(['G3'])
  })

  it('counts a number from the first ask that was not refused, though its owner is older', () => {
    const granted = { step: 'acquire', owner: 'owner 4', sentAt: 295, repliedAt: 299, answer: 4 } as const
    const after = (answer: 'no' | 'fault'): string[] =>
      new Story()
        .hold('w3', { from: 20, to: 80, grant: 3 })
        .hold('w1', LEASE)
        .fault(220, 230, { loses: true })
        .step('w2', { ...granted, sentAt: 50, repliedAt: 51, answer })
        .step('w2', granted).broken
    expect(after('no')).toEqual(['G3'])
    // That may have made it.
    expect(after('fault')).toEqual([])
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

  it('is broken by a yes to a release of a lease that has run out or was freed by force', () => {
    const granted = { step: 'acquire', owner: 'owner 5', sentAt: 95, answer: 5 } as const
    const lost = (): Story => new Story().step('w1', { ...granted, repliedAt: 99 })
    expect(lost().step('w1', { ...release, sentAt: 1090, repliedAt: 1110 }).broken).toEqual([])
    expect(lost().step('w1', { ...release, sentAt: 1110, repliedAt: 1120 }).broken).toEqual(['G4'])
    const late = { ...release, sentAt: 220, repliedAt: 230 }
    expect(lost().evict(200, 210, 5).step('w1', late).broken).toEqual(['G4'])
    expect(lost().evict(200, 210, null).step('w1', late).broken).toEqual([])
    expect(lost().evict(200, 210, 5).fault(205, 215, { loses: true }).step('w1', late).broken).toEqual([])
    // It asked again, and may have been given the key once more.
    const again = { step: 'acquire', owner: 'owner 5', sentAt: 190 } as const
    expect(lost().step('w1', again).evict(200, 210, 5).step('w1', late).broken).toEqual([])
  })

  it('is broken by a no to one who holds the key', () => {
    const granted = { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5 } as const
    const no = { owner: 'owner 5', sentAt: 300, repliedAt: 310, answer: 'no' } as const
    for (const step of ['acquire', 'renew', 'release'] as const) {
      const held = (): Story => new Story().step('w1', granted).step('w1', { ...no, step })
      expect(held().broken).toEqual(['G4'])
      expect(held().evict(200, 400, 5).broken).toEqual([])
      expect(held().fault(200, 305, { loses: true }).broken).toEqual([])
      expect(held().step('w1', { step: 'release', owner: 'owner 5', sentAt: 250 }).broken).toEqual([])
      const late = { ...no, step, sentAt: 1080, repliedAt: 1095 }
      expect(new Story().step('w1', granted).step('w1', late).broken).toEqual([])
    }
  })

  it('lets a driver send a release again when its connection breaks', () => {
    const granted = { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5 } as const
    const no = { step: 'release', owner: 'owner 5', sentAt: 300, repliedAt: 310, answer: 'no' } as const
    const broken = (target: string): string[] =>
      new Story().born('w1', 0).born('w2', 0).step('w1', granted).step('w1', no).fault(305, 306, { target })
        .broken
    expect(broken('w1')).toEqual([])
    expect(broken('w2')).toEqual(['G4'])
  })
})

describe('G5 nothing left', () => {
  it('is broken by a key that is held for nobody', () => {
    const left = (locks: Listed[]): string[] => new Story().note(1, 'nemesis', { is: 'left', locks }).broken
    expect(left([])).toEqual([])
    expect(left([{ key: 'k', by: 'w1', grant: 5 }])).toEqual(['G5'])
  })

  it('is not taken for kept when nobody looked', () => {
    for (const look of ['listed', 'left']) {
      const entries = new Story().hold('w1', LEASE).entries.filter(({ is }) => is !== look)
      expect(check(entries)).toMatchObject([{ guarantee: 'G5', message: 'nobody looked at what was left' }])
    }
  })

  it('is broken by a key of one that has closed, unless a call of it had no answer', () => {
    const listed = (at: number, by: string): Story =>
      new Story()
        .born('w1', 0)
        .note(1, 'nemesis', { is: 'calm' })
        .note(300, 'w1', { is: 'closing' })
        .note(310, 'w1', { is: 'closed' })
        .died('w1', 400)
        .note(at, 'nemesis', { is: 'listed', locks: [{ key: 'k', by, grant: 5 }] })
    expect(listed(305, 'w1').broken).toEqual([])
    expect(listed(320, 'w1').broken).toEqual(['G5'])
    expect(listed(320, 'w2').broken).toEqual([])
    const unanswered = { step: 'release', owner: 'owner 5', sentAt: 305 } as const
    expect(listed(320, 'w1').step('w1', unanswered).broken).toEqual([])
    expect(listed(320, 'w1').step('w1', { ...unanswered, key: 'other' }).broken).toEqual(['G5'])
    // Servers that failed over by themselves may have forgotten its release.
    expect(listed(320, 'w1').fault(290, 300, { loses: true }).broken).toEqual([])
    expect(listed(320, 'w1').fault(290, 300).broken).toEqual(['G5'])
  })

  it('says which grant is held, and which call asked for it', () => {
    const told = (story: Story): string[] =>
      check(story.note(20_000, 'nemesis', { is: 'left', locks: [{ key: 'k', by: 'w1', grant: 5 }] }).entries)
        .filter(({ guarantee }) => guarantee === 'G5')
        .map(({ message }) => message)
    const ask = { step: 'acquire', owner: 'owner 5', sentAt: 10 } as const
    const left = '"k" is still held for nobody, by w1'
    expect(told(new Story())).toEqual([`${left} (grant 5)`])
    expect(told(new Story().step('w1', { ...ask, repliedAt: 12, answer: 5 }))).toEqual([
      `${left} (grant 5, by call 1)`,
    ])
    expect(told(new Story().step('w1', ask))).toEqual([
      `${left} (grant 5, perhaps by call 1, which had no answer)`,
    ])
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

  it('is broken by one who gets the key while one who asked before still waits, and in vain', () => {
    const overtaken = (code: string, at: number, waitMs = 5000): string[] => {
      const story = new Story().born('w1', 0)
      const id = story.ask('w1', 10, waitMs)
      return story.hold('w1', LEASE).note(at, 'w1', { is: 'refused', id, code }).broken
    }
    expect(overtaken('LOCK_ACQUIRE_TIMEOUT', 5010)).toEqual(['G8'])
    expect(overtaken('STORE_UNAVAILABLE', 5010)).toEqual(['G8'])
    // Refused before that, or so late only because the process stood still.
    expect(overtaken('LOCK_ABORTED', 90)).toEqual([])
    expect(overtaken('LOCK_ACQUIRE_TIMEOUT', 5010, 80)).toEqual([])
  })

  it('is broken by one who overtakes another whose process is killed then', () => {
    const story = new Story().born('w1', 0)
    story.ask('w1', 10, 5000)
    expect(story.hold('w1', LEASE).died('w1', 600, 'SIGKILL').broken).toEqual(['G8'])
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
    expect(closed().died('w1', 30, 'SIGKILL').broken).toEqual(['G12', 'G7'])
    expect(closed().died('w1', 30, '1', false).broken).toEqual(['G12', 'G7'])
  })

  it('is broken by a timer that keeps the process alive, unless a driver of its own may have left it', () => {
    const remains = (resources: string[], isOurs: boolean): Story =>
      closed().note(5020, 'w1', { is: 'remains', resources, isOurs }).died('w1', 9000)
    expect(remains(['Timeout'], true).broken).toEqual(['G12'])
    expect(remains(['TCPSocketWrap'], true).broken).toEqual([])
    expect(remains(['Timeout'], false).broken).toEqual([])
    const blocked = remains(['Timeout'], true).note(100, 'w1', { is: 'block', ms: 4900, starved: true })
    expect(blocked.note(5000, 'w1', { is: 'unblock' }).broken).toEqual([])
  })

  it('is broken by a process that ends and has not closed', () => {
    const calm = new Story().born('w1', 0).note(1, 'nemesis', { is: 'calm' })
    expect(calm.died('w1', 30).broken).toEqual(['G12'])
  })
})
