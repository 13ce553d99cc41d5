import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Patience } from '../../src/stores/redis/patience.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** How long a call is given, where so many replicas have come. */
async function call(patience: Patience, where: string, seen: number): Promise<number> {
  let given = Number.NaN
  await patience.wait(where, 1, async (replicas, limitMs) => {
    given = replicas === 0 ? 0 : limitMs
    return ['done', seen]
  })
  return given
}

describe('patience with replicas', () => {
  it('ends with those that did not come, but for one call in a second, and is back when they are', async () => {
    const patience = new Patience()
    expect(await call(patience, 'a', 0)).toBe(1000)
    expect(await call(patience, 'a', 0)).toBe(200)
    expect(await call(patience, 'a', 0)).toBe(0)
    vi.advanceTimersByTime(1000)
    expect(await call(patience, 'a', 1)).toBe(200)
    expect(await call(patience, 'a', 1)).toBe(1000)
  })

  it('takes turns, so that one whose replicas are gone for good is not all that it ever looks at', async () => {
    const patience = new Patience()
    for (const where of ['gone', 'back']) await call(patience, where, 0)
    expect(await call(patience, 'gone', 0)).toBe(200)
    vi.advanceTimersByTime(1000)
    expect(await call(patience, 'gone', 0)).toBe(0)
    expect(await call(patience, 'back', 1)).toBe(200)
  })

  it('does not wait for the turn of one that nobody asks for any more', async () => {
    const patience = new Patience()
    for (const where of ['gone', 'forgotten']) await call(patience, where, 0)
    expect(await call(patience, 'gone', 0)).toBe(200)
    vi.advanceTimersByTime(2000)
    expect(await call(patience, 'gone', 0)).toBe(200)
  })
})
