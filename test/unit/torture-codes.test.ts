import { describe, expect, it } from 'vitest'
import { Story } from './torture-story.ts'

function refused(how: 'acquire' | 'try' | 'using' | 're-enter' | 'several', code: string): string[] {
  const ask = { is: 'ask', id: 1, how, keys: ['k'], waitMs: 1000, leaseMs: 1000 } as const
  return new Story().born('w1', 0).note(10, 'w1', ask).note(1020, 'w1', { is: 'refused', id: 1, code }).broken
}

function ended(how: 'acquire' | 'using', code: string): string[] {
  const lease = { from: 100, to: 200, grant: 5, how, releases: false, ok: false } as const
  const story = new Story().hold('w1', lease).evict(150, 160, 5)
  const id = story.entries.find(({ is }) => is === 'ask') as { readonly id: number }
  return story.note(203, 'w1', { is: 'released', id: id.id, ok: null, code }).broken
}

describe('G7 codes of refusals', () => {
  it('fit how it was asked', () => {
    expect(refused('acquire', 'LOCK_ACQUIRE_TIMEOUT')).toEqual([])
    expect(refused('several', 'STORE_UNAVAILABLE')).toEqual([])
    expect(refused('try', 'busy')).toEqual([])
    expect(refused('using', 'LOCK_LOST')).toEqual([])
    expect(refused('re-enter', 'LOCK_LOST')).toEqual([])
  })

  it('are broken by any other', () => {
    expect(refused('acquire', 'busy')).toEqual(['G7'])
    expect(refused('acquire', 'LOCK_LOST')).toEqual(['G7'])
    expect(refused('try', 'LOCK_ACQUIRE_TIMEOUT')).toEqual(['G7'])
    // It waited for itself.
    expect(refused('re-enter', 'LOCK_ACQUIRE_TIMEOUT')).toEqual(['G7'])
    expect(refused('re-enter', 'STORE_UNAVAILABLE')).toEqual(['G7'])
    for (const code of ['INVALID_OPTION', 'DEADLOCK', 'CLOSED', 'LOCK_NOT_HELD'])
      expect(refused('using', code)).toEqual(['G7'])
  })
})

describe('G6 codes of ends', () => {
  it('are broken by a loss that `release()` is rejected with', () => {
    expect(ended('acquire', 'LOCK_RELEASE_FAILED')).toEqual([])
    expect(ended('using', 'LOCK_LOST')).toEqual([])
    expect(ended('acquire', 'LOCK_LOST')).toEqual(['G6'])
    expect(ended('using', 'STORE_UNAVAILABLE')).toEqual(['G6'])
  })
})

describe('G7 errors of calls', () => {
  const called = (error: string): string[] => {
    const claims = [{ key: 'k', owner: 'owner 5', leaseMs: 1000 }]
    const story = new Story().note(10, 'w1', { is: 'call', call: 1, step: 'acquire', claims })
    return story.note(20, 'w1', { is: 'failed', call: 1, error }).broken
  }

  it('may say anything but that a program is wrong', () => {
    expect(called('LockError, by Error: the store cannot be reached')).toEqual([])
    expect(called('LockError, by TypeError: the store failed: x is not a function')).toEqual(['G7'])
  })

  it('are those of single claims too', () => {
    const claims = [{ key: 'k', owner: 'owner 5', leaseMs: 1000 }]
    const story = new Story().note(10, 'w1', { is: 'call', call: 1, step: 'acquire', claims })
    const errors = ['RangeError: invalid array length']
    expect(story.note(20, 'w1', { is: 'reply', call: 1, answers: ['fault'], errors }).broken).toEqual(['G7'])
  })
})
