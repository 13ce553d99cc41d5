import { stat } from 'node:fs/promises'
import { describe, expect, it, vi } from 'vitest'
import { bucketOf } from '../../src/stores/redis/names.ts'
import { Parts } from '../../src/stores/redis/parts.ts'
import { keysIn } from '../support/redis-sets.ts'
import { atEnd } from '../support/stage.ts'

const ITEMS = keysIn('21', 3).map((key) => ({ key }))
const [FIRST] = keysIn('22', 1)

/** How many calls the items are shared out among, once a call for all of them has failed like this. */
async function callsAfter(message: string): Promise<number> {
  const parts = new Parts(true, { suspect: () => undefined, look: () => Promise.resolve() })
  const all = parts.of(ITEMS, ({ key }) => key)
  expect(all).toHaveLength(1)
  const answers = await parts.answers(all, 0, () => Promise.reject(new Error(message)))
  expect([...answers.values()].every((answer) => 'error' in answer)).toBe(true)
  // Others are not concerned.
  expect(parts.isApart(FIRST as string)).toBe(false)
  return parts.of(ITEMS, ({ key }) => key).length
}

describe('the keys of a slot that is on its way', () => {
  it.each([
    'TRYAGAIN Multiple keys request during rehashing of slot',
    // Clients that follow each hint go to and fro, and give up wherever they are.
    'Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request during rehashing of slot',
    'Too many Cluster redirections. Last error: ReplyError: MOVED 1413 127.0.0.1:7000',
    'Too many Cluster redirections. Last error: ReplyError: ASK 1413 127.0.0.1:7000',
    'too many redirections. Last error: Error: ASK 1413 127.0.0.1:7000',
  ])('G7 are called for one by one after %s', async (message) => {
    expect(ITEMS.map(({ key }) => bucketOf(key))).toEqual(['21', '21', '21'])
    expect(await callsAfter(message)).toBe(3)
  })

  it('G7 are called for one by one once a node tells of one of them alone, and not of several', async () => {
    vi.useFakeTimers()
    atEnd(() => vi.useRealTimers())
    const looks: string[] = []
    let answer = (): void => undefined
    const look = (key: string): Promise<unknown> => {
      looks.push(key)
      return new Promise<void>((resolve) => (answer = resolve))
    }
    const parts = new Parts(true, { suspect: () => undefined, look })
    const all = parts.of([...ITEMS, { key: FIRST as string }], ({ key }) => key)
    // The client follows what the node says, and says nothing itself.
    void parts.answers(all, 0, () => new Promise<readonly object[]>(() => {}))
    await vi.advanceTimersByTimeAsync(500)
    // A call for one key alone has told all that there is to tell.
    expect(looks).toEqual([ITEMS[0]?.key])
    expect(parts.isApart(ITEMS[0]?.key ?? '')).toBe(false)
    answer()
    await vi.advanceTimersByTimeAsync(0)
    expect(parts.of(ITEMS, ({ key }) => key)).toHaveLength(3)
    expect(parts.isApart(FIRST as string)).toBe(false)
    await vi.advanceTimersByTimeAsync(10_001)
    expect(parts.of(ITEMS, ({ key }) => key)).toHaveLength(1)
  })

  it('are called for at once where a node is slow, and tells of several with the one', async () => {
    vi.useFakeTimers()
    atEnd(() => vi.useRealTimers())
    const later = new Promise<void>((resolve) => setTimeout(resolve, 600))
    // In order, as a node answers on one connection.
    const parts = new Parts(true, { suspect: () => undefined, look: () => later.then(() => later) })
    const slow = (part: readonly object[]): Promise<readonly object[]> =>
      later.then(() => part.map(() => ({})))
    const answers = parts.answers(
      parts.of(ITEMS, ({ key }) => key),
      0,
      slow,
    )
    await vi.advanceTimersByTimeAsync(700)
    expect((await answers).size).toBe(3)
    expect(parts.of(ITEMS, ({ key }) => key)).toHaveLength(1)
  })

  it('G7 answers that came while the process stood still are read before anyone goes on without them', async () => {
    const parts = new Parts(true, { suspect: () => undefined, look: () => Promise.resolve() })
    const all = parts.of([...ITEMS, { key: FIRST as string }], ({ key }) => key)
    const answers = parts.answers(all, 0, async (part) => {
      // Of another thread, as from a socket: it is there before the loop goes on, but is read after the timers.
      if (part === all[1]) await stat('.')
      return part.map(() => ({}))
    })
    // The first has been answered, so that the others have their time from here on.
    await Promise.resolve()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
    expect([...(await answers).values()].filter((answer) => 'error' in answer)).toEqual([])
  })

  it('are called for at once after anything else', async () => {
    expect(await callsAfter('Connection is closed.')).toBe(1)
  })
})
