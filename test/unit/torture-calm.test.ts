import { describe, expect, it } from 'vitest'
import { check } from '../torture/check.ts'
import { Story } from './torture-story.ts'

const LEASE = { from: 100, to: 200, grant: 5 }

/** For as long as any of these: what the store refuses is not free. */
function heldByOther(story: Story): Story {
  const ask = { step: 'acquire', owner: 'owner 4', sentAt: 1, repliedAt: 2, answer: 4 } as const
  return story.step('w3', { ...ask, leaseMs: 30_000 })
}

describe('G7 calm', () => {
  it('is broken by a process that dies by itself', () => {
    expect(new Story().born('w1', 0).died('w1', 10, 'SIGKILL', true).broken).toEqual([])
    expect(new Story().born('w1', 0).died('w1', 10, '1', false).broken).toEqual(['G7'])
  })

  it('is broken by a process that fails as it ends, whatever it was about', () => {
    const told = (): Story => new Story().born('w1', 0).note(5, 'nemesis', { is: 'calm' })
    expect(told().died('w1', 10, '1').broken).toEqual(['G7'])
    expect(told().hold('w1', LEASE).died('w1', 300, 'SIGSEGV').broken).toEqual(['G7'])
    const story = told()
    story.ask('w1', 10)
    expect(story.died('w1', 20, '1').broken).toEqual(['G7'])
  })

  it('is not taken for kept when the faults had no end', () => {
    const entries = new Story().hold('w1', LEASE).entries.filter(({ is }) => is !== 'calm')
    expect(check(entries)).toMatchObject([{ guarantee: 'G7', message: 'the faults had no end' }])
  })

  it('is broken by an ask that is never answered, unless its process was killed', () => {
    const asked = (): Story => {
      const story = new Story().born('w1', 0)
      story.ask('w1', 10)
      return story
    }
    expect(asked().died('w1', 500, 'SIGKILL').broken).toEqual([])
    expect(asked().died('w1', 500, '0').broken).toContain('G7')
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
      const story = heldByOther(new Story().born('w1', 0).note(5, 'nemesis', { is: 'calm' }))
      return story.note(15_010, 'w1', {
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

describe('G7 back to work', () => {
  const poll = { step: 'acquire', owner: 'owner 5', repliedAt: 12_001, answer: 'no' } as const
  const refused = (times: number, from: number): Story => {
    const story = heldByOther(new Story().born('w1', 0).note(0, 'nemesis', { is: 'calm' }))
    for (let at = from; at < from + times * 100; at += 100) {
      const id = story.ask('w1', at, 50)
      story.note(at + 50, 'w1', { is: 'refused', id, code: 'STORE_UNAVAILABLE' })
    }
    return story
  }

  it('is broken by one who never reaches the store again, when all is calm', () => {
    expect(refused(3, 11_000).broken).toEqual(['G7'])
    expect(refused(3, 8000).broken).toEqual([])
    expect(refused(2, 11_000).broken).toEqual([])
    expect(refused(3, 11_000).step('w1', { ...poll, sentAt: 12_000 }).broken).toEqual([])
    expect(refused(3, 11_000).step('w2', { ...poll, sentAt: 12_000 }).broken).toEqual(['G7'])
  })

  it('is not asked of one whose servers had a fault of their own meanwhile', () => {
    expect(refused(3, 11_000).fault(2000, 3000, { loses: true }).broken).toEqual([])
    expect(refused(3, 13_000).fault(2000, 3000, { loses: true }).broken).toEqual(['G7'])
  })

  it('is broken by one who tries to open the store, and cannot', () => {
    const opening = (): Story => refused(0, 0).note(11_000, 'w1', { is: 'opening' })
    const story = opening().note(12_000, 'w1', { is: 'opening' })
    expect(story.broken).toEqual([])
    expect(story.note(13_000, 'w1', { is: 'opening' }).broken).toEqual(['G7'])
  })
})

describe('G7 whole wait', () => {
  const refused = (how: 'acquire' | 'using' | 'several', code: string, at: number): string[] => {
    const ask = { is: 'ask', id: 1, how, keys: ['k'], waitMs: 1000, leaseMs: 1000 } as const
    const story = new Story().born('w1', 0).note(10, 'w1', ask)
    return story.note(at, 'w1', { is: 'refused', id: 1, code }).broken
  }

  it('is broken by one who is refused before its time for what may pass', () => {
    for (const how of ['acquire', 'using', 'several'] as const) {
      for (const code of ['LOCK_ACQUIRE_TIMEOUT', 'STORE_UNAVAILABLE']) {
        expect(refused(how, code, 1000)).toEqual(['G7'])
        expect(refused(how, code, 1010)).toEqual([])
      }
    }
  })

  it('is not kept by one who gives up, nor by one who has the key and loses it', () => {
    expect(refused('acquire', 'LOCK_ABORTED', 20)).toEqual([])
    expect(refused('using', 'LOCK_LOST', 20)).toEqual([])
  })
})
