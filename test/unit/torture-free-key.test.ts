import { describe, expect, it } from 'vitest'
import { check } from '../torture/check.ts'
import { Story } from './torture-story.ts'

describe('G5 free key', () => {
  const ask = { step: 'acquire', owner: 'owner 5', sentAt: 95, repliedAt: 99, answer: 5 } as const
  const release = { step: 'release', owner: 'owner 5', sentAt: 200, repliedAt: 210, answer: 'yes' } as const
  const no = { step: 'acquire', owner: 'owner 6', answer: 'no' } as const
  const refused = (story: Story, sentAt: number, by = 'w2'): Story =>
    story
      .born('w1', 0)
      .born('w2', 0)
      .step(by, { ...no, sentAt, repliedAt: sentAt + 5 })

  it('is broken by a no long after the last lease was given back', () => {
    const released = (): Story => new Story().step('w1', ask).step('w1', release)
    expect(refused(released(), 3200).broken).toEqual([])
    expect(refused(released(), 3220).broken).toEqual(['G5'])
    // Nor was it there any more when that was asked for.
    const gone = new Story()
      .step('w1', ask)
      .step('w1', { ...release, answer: 'no', sentAt: 1200, repliedAt: 1210 })
    expect(refused(gone, 4220).broken).toEqual(['G5'])
  })

  it('is broken by a no long after the lease of a dead one has run out', () => {
    const dead = (): Story => new Story().step('w1', ask).died('w1', 150, 'SIGKILL')
    // Answered at 99, for 1000 ms; 2 ms more for a clock that is slow.
    expect(refused(dead(), 4100).broken).toEqual([])
    expect(refused(dead(), 4110).broken).toEqual(['G5'])
    expect(refused(dead(), 30_000).broken).toEqual(['G5'])
  })

  it('is broken by a no to the first who asks', () => {
    expect(refused(new Story(), 10).broken).toEqual(['G5'])
  })

  it('is told once for each time that it was free', () => {
    const story = new Story().step('w1', ask).step('w1', release)
    for (const at of [4000, 5000, 6000])
      refused(story, at).step('w3', { ...no, sentAt: at, repliedAt: at + 9 })
    expect(check(story.entries).map(({ message }) => message)).toEqual([
      'the store refused "k" 6 times to w2, w3, up to 5799 ms after every lease on it was over',
    ])
  })

  it('is not when another one may have had it meanwhile, however long the call took', () => {
    const renewal = { step: 'renew', owner: 'owner 5', sentAt: 1090, repliedAt: 1095, answer: 5 } as const
    expect(refused(new Story().step('w1', ask).step('w1', renewal), 5000).broken).toEqual([])
    expect(refused(new Story().step('w1', ask).step('w1', renewal), 5110).broken).toEqual(['G5'])
    const slow = { ...ask, owner: 'owner 7', sentAt: 4000, repliedAt: 9000, answer: 7 } as const
    expect(refused(new Story().step('w3', slow), 5000).broken).toEqual([])
    // A lease that has run out is not taken back.
    const late = { ...renewal, sentAt: 3000, repliedAt: 3005, answer: 'no' } as const
    expect(refused(new Story().step('w1', ask).step('w1', late), 5000).broken).toEqual(['G5'])
  })

  it('is not when a call without an answer may have come late', () => {
    const lost = (): Story => new Story().step('w1', { step: 'acquire', owner: 'owner 5', sentAt: 95 })
    expect(refused(lost(), 13_000).broken).toEqual([])
    expect(refused(lost(), 15_000).broken).toEqual(['G5'])
    // It came after its release.
    expect(refused(lost().step('w1', release), 13_000).broken).toEqual([])
    const failed = (): Story => new Story().step('w1', { ...ask, repliedAt: 3000, answer: 'fault' })
    expect(refused(failed(), 16_000).broken).toEqual([])
    expect(refused(failed(), 18_000).broken).toEqual(['G5'])
  })

  it('is not when a driver may have sent a call again in a fault', () => {
    const hindered = (target: string): Story =>
      new Story().step('w1', ask).step('w1', release).fault(97, 150, { target })
    expect(refused(hindered('w1'), 14_000).broken).toEqual([])
    expect(refused(hindered('w2'), 14_000).broken).toEqual(['G5'])
    const slow = new Story().step('w1', { ...ask, repliedAt: 20_000 }).fault(97, 150, { target: 'w1' })
    expect(refused(slow, 24_500).broken).toEqual([])
    const again = { ...ask, answer: 'no' } as const
    const other = { ...ask, owner: 'owner 4', sentAt: 50, repliedAt: 55, answer: 4, leaseMs: 60 } as const
    const twice = (): Story => new Story().step('w3', other).step('w1', again)
    expect(refused(twice().fault(97, 150, { target: 'w1' }), 14_000).broken).toEqual([])
    expect(refused(twice(), 14_000).broken).toEqual(['G5'])
  })

  it('is not when the store may have forgotten the release', () => {
    const ask9 = { ...ask, leaseMs: 9000 } as const
    const forgot = (loses: boolean): Story =>
      new Story().step('w1', ask9).step('w1', release).fault(300, 400, { loses, target: 'set' })
    expect(refused(forgot(true), 8000).broken).toEqual([])
    expect(refused(forgot(false), 8000).broken).toEqual(['G5'])
    expect(refused(forgot(true), 13_000).broken).toEqual(['G5'])
  })

  it('is not while a fault of the store is just over', () => {
    const released = (): Story => new Story().step('w1', ask).step('w1', release)
    expect(refused(released().fault(7000, 8000, { target: 'set' }), 10_000).broken).toEqual([])
    expect(refused(released().fault(6000, 6900, { target: 'set' }), 10_000).broken).toEqual(['G5'])
    expect(refused(released().fault(7000, 8000, { target: 'w1' }), 10_000).broken).toEqual(['G5'])
  })
})
