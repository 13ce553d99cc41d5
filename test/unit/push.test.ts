import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Answer, Fault } from '../../src/store.ts'
import { type Ears, Push, type Waiting } from '../../src/stores/shared/push.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const holder = { service: 'test', instance: 'test', context: null }

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
    pass: async () => true,
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

  /** A dismissal fails as long as `fails` says so. */
  function leaving(fails: () => boolean): { push: Push; heardFor: Set<string>; calls: () => number } {
    const heardFor = new Set<string>()
    let calls = 0
    const waiting = waitingWith(async (keys) => keys)
    const push = new Push({
      ...waiting,
      listen: (waiter, ears) => ({
        ...waiting.listen!(waiter, ears),
        add: (key) => void heardFor.add(key),
        delete: (key) => void heardFor.delete(key),
      }),
      dismiss: async () => {
        calls += 1
        if (fails()) throw new Error('the connection was cut')
      },
    })
    return { push, heardFor, calls: () => calls }
  }

  it('G8 who waits no more is off the list in the end, though that failed and nobody else waits', async () => {
    let down = true
    const { push, heardFor, calls } = leaving(() => down)
    const watch = push.watch(() => {})
    watch.add('key')
    await vi.advanceTimersByTimeAsync(1000)
    watch.delete('key')
    await vi.advanceTimersByTimeAsync(60_000)
    // Until then, it is heard if this process is woken for it. What is down is not pressed.
    expect([...heardFor]).toEqual(['key'])
    expect(calls()).toBeLessThan(70)
    down = false
    await vi.advanceTimersByTimeAsync(2000)
    expect([...heardFor]).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
    await watch.close()
  })

  it('G8 who gave up while it was put on the list is off it in the end, though that call hung', async () => {
    let dismissed = 0
    const push = new Push({
      ...waitingWith(() => new Promise(() => {})),
      dismiss: async () => void (dismissed += 1),
    })
    const watch = push.watch(() => {})
    watch.add('key')
    await vi.advanceTimersByTimeAsync(1000)
    watch.delete('key')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(dismissed).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
    await watch.close()
  })

  it('G8 who was woken by an older place on the list while it was put there anew is off it in the end', async () => {
    for (const leavesFirst of [false, true]) {
      let ears!: Ears
      let held!: (keys: string[]) => void
      const dismissed: string[] = []
      const waiting = waitingWith(() => new Promise((resolve) => (held = resolve)))
      const push = new Push({
        ...waiting,
        listen: (waiter, given) => {
          ears = given
          return waiting.listen!(waiter, given)
        },
        dismiss: async (keys) => void dismissed.push(...keys),
      })
      const watch = push.watch(() => {})
      watch.add('key')
      await vi.advanceTimersByTimeAsync(20)
      ears.heard('key')
      if (leavesFirst) watch.delete('key')
      held(['key'])
      await vi.advanceTimersByTimeAsync(0)
      watch.delete('key')
      await vi.advanceTimersByTimeAsync(2000)
      expect(dismissed).toEqual(['key'])
      await watch.close()
    }
  })

  it('G12 nothing is tried any more after the end, though the list could not be left', async () => {
    for (const end of ['watch', 'store']) {
      const { push, calls } = leaving(() => true)
      const watch = push.watch(() => {})
      watch.add('key')
      await vi.advanceTimersByTimeAsync(1000)
      const denied = push.around([{ key: 'key', owner: 'o', leaseMs: 1000, holder }], async () => {
        await new Promise((resolve) => setTimeout(resolve, 10_000))
        return [{ granted: false, retryInMs: 1, holder }]
      })
      watch.delete('key')
      await vi.advanceTimersByTimeAsync(5000)
      expect(calls()).toBeGreaterThan(1)
      await (end === 'watch' ? watch : push).close()
      expect(vi.getTimerCount()).toBe(1)
      if (end === 'watch') await push.close()
      await vi.advanceTimersByTimeAsync(10_000)
      await denied
      const last = calls()
      expect(vi.getTimerCount()).toBe(0)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(calls()).toBe(last)
    }
  })

  const unnoted: [string, Waiting['pass']][] = [
    ['there is no list', async () => false],
    ['it fails', () => Promise.reject(new Error('the connection was cut'))],
  ]
  it.each(unnoted)(
    'G8 who was woken and did not ask is told again, where its name could not be put on the list: %s',
    async (_, pass) => {
      let passes = 0
      const push = new Push({
        ...waitingWith(async () => []),
        pass: (key, waiter) => {
          passes += 1
          return passes < 3 ? pass(key, waiter) : Promise.resolve(true)
        },
      })
      const freed: string[] = []
      const watch = push.watch((key) => freed.push(key))
      watch.add('key')
      await vi.advanceTimersByTimeAsync(5000)
      expect(freed).toEqual(['key', 'key', 'key'])
      await watch.close()
    },
  )

  const cases: [string, () => Promise<(Answer | Fault)[]>, string[]][] = [
    ['fails', () => Promise.reject(new Error('the connection was cut')), ['key']],
    ['is answered with a fault', async () => [{ error: new Error('this part is down') }], ['key']],
    ['is granted', async () => [{ granted: true, grant: 1, previous: null }], []],
    ['is denied', async () => [{ granted: false, retryInMs: 1, holder }], []],
  ]
  it.each(cases)(
    'G8 who was woken lets the next have its turn only if its ask failed: %s',
    async (_, step, passed) => {
      const passes: string[] = []
      let hears: Ears | undefined
      const waiting = waitingWith(async () => ['key'])
      const push = new Push({
        ...waiting,
        listen: (waiter, ears) => waiting.listen!(waiter, (hears = ears)),
        pass: async (key) => passes.push(key) > 0,
      })
      const watch = push.watch(() => {})
      watch.add('key')
      await vi.advanceTimersByTimeAsync(10)
      hears!.heard('key')
      const asked = push.around([{ key: 'key', owner: 'o', leaseMs: 1000, holder }], (keys) => {
        expect([...keys]).toEqual(['key'])
        return step()
      })
      await asked.catch(() => undefined)
      expect(passes).toEqual(passed)
      await watch.close()
    },
  )
})
