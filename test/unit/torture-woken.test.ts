import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

describe('G8 woken', () => {
  /** Asks at 150 for what is given back at 200, and is refused in the end. */
  const waiting = (by: string, refusedAt: number): Story => {
    const story = new Story().born('w2', 0).hold('w1', { from: 100, to: 200, grant: 5 })
    const id = story.ask(by, 150, 15_000)
    return story.note(refusedAt, by, { is: 'refused', id, code: 'LOCK_ABORTED' })
  }

  it('is broken by one who waits while nobody has the key, and does not ask for it', () => {
    expect(waiting('w2', 5150).broken).toEqual([])
    expect(waiting('w2', 5210).broken).toEqual(['G8'])
    // Inside the process that gave it back, too.
    expect(waiting('w1', 5210).broken).toEqual(['G8'])
  })

  it('is not when another one has it meanwhile, or may have', () => {
    const held = { from: 2000, to: 2500, grant: 6 } as const
    expect(waiting('w2', 7200).hold('w3', held).broken).toEqual([])
    const lost = { step: 'acquire', owner: 'owner 7', sentAt: 2000 } as const
    expect(waiting('w2', 9000).step('w3', lost).broken).toEqual([])
  })

  it('counts only the time in which the process ran and no fault was on it', () => {
    expect(waiting('w2', 7000).pause('w2', 1000, 3000).broken).toEqual([])
    expect(waiting('w2', 7000).pause('w1', 1000, 3000).broken).toEqual(['G8'])
    expect(waiting('w2', 7000).fault(1000, 3000).broken).toEqual([])
    const blocked = waiting('w2', 7000).note(1000, 'w2', { is: 'block', ms: 2000 })
    expect(blocked.note(3000, 'w2', { is: 'unblock' }).broken).toEqual([])
  })

  it('is not asked of one who has given up without the time to say so', () => {
    const story = new Story().born('w2', 0)
    const id = story.ask('w2', 150, 1000)
    expect(story.note(7000, 'w2', { is: 'refused', id, code: 'LOCK_ACQUIRE_TIMEOUT' }).broken).toEqual([])
  })
})
