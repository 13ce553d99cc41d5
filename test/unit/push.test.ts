import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Ears, Push, type Waiting } from '../../src/stores/shared/push.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Being woken is heard all the time, and every key is free. */
function waitingWith(enlist: Waiting['enlist']): Waiting {
  return {
    listen: (_: string, ears: Ears) => {
      const keys = new Set<string>()
      setImmediate(() => ears.up(keys))
      return {
        hears: () => true,
        add: (key) => void keys.add(key),
        delete: (key) => void keys.delete(key),
        stop: () => Promise.resolve(),
      }
    },
    free: async (keys) => keys,
    enlist,
    dismiss: () => Promise.resolve(),
    pass: () => Promise.resolve(),
  }
}

describe('push', () => {
  it('G8 looks again at a key that could not be asked about, also while it would hear of it', async () => {
    let calls = 0
    const push = new Push(
      waitingWith(async () => {
        calls += 1
        if (calls < 4) throw new Error('the connection was cut')
        return []
      }),
    )
    const freed: string[] = []
    const watch = push.watch((key) => freed.push(key))
    watch.add('key')
    await vi.advanceTimersByTimeAsync(1000)
    expect(freed).toEqual(['key'])
    expect(calls).toBe(4)
    await watch.close()
  })
})
