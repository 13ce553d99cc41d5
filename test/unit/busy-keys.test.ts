import fc from 'fast-check'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { BusyKeys } from '../../src/monitor/busy-keys.ts'

/** Heavy keys, each with its share of a hundred, among a stream of others. */
const streams: fc.Arbitrary<Stream> = fc.record({
  shares: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 6 }),
  others: fc.constantFrom(10, 200, 300, 5_000, 1_000_000),
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  length: fc.constantFrom(100, 3_000, 10_000, 40_000),
})

interface Stream {
  readonly shares: readonly number[]
  readonly others: number
  readonly seed: number
  readonly length: number
}

function play({ shares, others, seed, length }: Stream): { sketch: BusyKeys; exact: Map<string, number> } {
  const sketch = new BusyKeys()
  const exact = new Map<string, number>()
  let state = seed
  const random = (below: number): number => {
    state = Math.imul(state, 1_664_525) + 1_013_904_223
    return (state >>> 0) % below
  }
  for (let i = 0; i < length; i += 1) {
    const drawn = random(100)
    let upTo = 0
    const heavy = shares.findIndex((share) => drawn < (upTo += share))
    const key = heavy >= 0 ? `heavy ${heavy}` : `other ${random(others)}`
    exact.set(key, (exact.get(key) ?? 0) + 1)
    sketch.requested(key)
  }
  return { sketch, exact }
}

describe('the busiest keys', () => {
  it('are exact for up to 256 keys', () => {
    const sketch = new BusyKeys()
    for (let turn = 1; turn <= 30; turn += 1)
      for (let i = 0; i < 256; i += 1) if (i % 30 < turn) sketch.requested(`key ${i}`)
    const shown = sketch.snapshot()
    expect(shown).toHaveLength(20)
    for (const { key, requests, overcount } of shown) {
      expect(overcount).toBe(0)
      expect(requests).toBe(30 - (Number(key.slice(4)) % 30))
    }
    expect(shown.map(({ requests }) => requests)).toEqual(
      shown.map(({ requests }) => requests).sort((a, b) => b - a),
    )
  })

  it('of the first 10,000 requests are never too low, and too high by a 256th at most, whatever the keys', () => {
    fc.assert(
      fc.property(streams, (stream) => {
        const length = Math.min(stream.length, 10_000)
        const { sketch, exact } = play({ ...stream, length })
        const shown = sketch.snapshot()
        for (const { key, requests, overcount } of shown) {
          const count = exact.get(key) ?? 0
          expect(requests).toBeGreaterThanOrEqual(count)
          expect(requests - overcount).toBeLessThanOrEqual(count)
          expect(overcount).toBeLessThanOrEqual(length / 256)
        }
        // At most 15 others can have as many, whatever they have too much.
        const missing = [...exact].filter(
          ([key, count]) => count > length / 16 + length / 256 && !shown.some((each) => each.key === key),
        )
        expect(missing).toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  it('of more requests are found and about right, in a flood of keys that come once', () => {
    const { sketch, exact } = play({ shares: [20, 5, 1], others: 1e9, seed: 7, length: 200_000 })
    const shown = new Map(sketch.snapshot().map((each) => [each.key, each]))
    for (const key of ['heavy 0', 'heavy 1', 'heavy 2']) {
      const count = exact.get(key) ?? 0
      const { requests = 0, overcount = 0 } = shown.get(key) ?? {}
      expect(Math.abs(requests - count)).toBeLessThan(overcount + 5 * Math.sqrt(16 * count))
      expect(overcount).toBeLessThan(200_000 / 256)
    }
  })

  it('do not fall in step with keys that take turns', () => {
    const sketch = new BusyKeys()
    for (let i = 0; i < 160_000; i += 1) sketch.requested(`key ${i % 8}`)
    for (const { requests } of sketch.snapshot()) {
      expect(requests).toBeGreaterThan(17_000)
      expect(requests).toBeLessThan(23_000)
    }
  })

  it('tell what a key has been waited for, as long as it is counted', () => {
    const sketch = new BusyKeys()
    sketch.requested('a')
    sketch.conflicted('a', 2)
    sketch.waited('a', 30)
    sketch.waited('a', 12)
    sketch.conflicted('never asked for', 1)
    sketch.waited('never asked for', 1)
    expect(sketch.snapshot()).toEqual([{ key: 'a', requests: 1, overcount: 0, conflicts: 2, waitedMs: 42 }])
    // 256 others push it out; when it comes back it begins anew.
    for (let i = 0; i < 256; i += 1) for (let n = 0; n < 3; n += 1) sketch.requested(`other ${i}`)
    for (let n = 0; n < 9; n += 1) sketch.requested('a')
    expect(sketch.snapshot()[0]).toMatchObject({ key: 'a', conflicts: 0, waitedMs: 0 })
  })

  it('take any text for a key', () => {
    const sketch = new BusyKeys()
    for (const key of ['__proto__', 'constructor', 'toString', '0', 'ключ']) sketch.requested(key)
    expect(sketch.snapshot().map(({ requests }) => requests)).toEqual([1, 1, 1, 1, 1])
  })

  it('take less than 320 KiB, however many keys there are and whatever they were cut from', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const flood = (sketch: BusyKeys, from: number): void => {
      for (let i = from; i < from + 30_000; i += 1) {
        // The longest there is in memory: one character beyond Latin-1 makes all of them two bytes wide.
        const key = `${String(i).padStart(12, '0')}\u20ac`.padEnd(510, 'k')
        sketch.requested(i % 100 === 0 ? `${key}${'x'.repeat(100_000)}`.slice(0, 510) : key)
      }
    }
    // What the engine keeps of code that has run is not counted.
    flood(new BusyKeys(), 0)
    collect()
    const before = process.memoryUsage().heapUsed
    const sketch = new BusyKeys()
    flood(sketch, 1e9)
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(320 * 1024)
    expect(sketch.snapshot()).toHaveLength(20)
  })
})
