import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Entry, Schedule } from '../../src/schedule.ts'
import { VirtualTime } from './support/virtual-time.ts'

describe('Schedule', () => {
  it('fires what is due, when it is due, whatever was added, moved and removed', async () => {
    const step = fc.record({
      what: fc.constantFrom('set', 'delete', 'advance'),
      item: fc.nat(7),
      ms: fc.integer({ min: 0, max: 100 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const time = new VirtualTime()
        const fired: [number, number][] = []
        const schedule = new Schedule<number>(time, (items) => {
          for (const item of items) fired.push([item, time.now()])
        })
        const entries = Array.from({ length: 8 }, (_, i) => new Entry(i))
        const due = new Map<number, number>()
        const expected: [number, number][] = []
        for (const { what, item, ms } of steps) {
          if (what === 'set') {
            schedule.set(entries[item]!, time.now() + ms)
            due.set(item, time.now() + ms)
          } else if (what === 'delete') {
            schedule.delete(entries[item]!)
            due.delete(item)
          } else {
            const end = time.now() + ms
            for (const [ready, at] of [...due].filter(([, at]) => at <= end)) {
              expected.push([ready, at])
              due.delete(ready)
            }
            await time.advance(ms)
          }
          const waiting = entries.filter(({ slot }) => slot >= 0).map((entry) => entry.item)
          expect(waiting).toEqual([...due.keys()].toSorted((a, b) => a - b))
        }
        // What is left fires as well, and nothing else.
        expected.push(...due)
        await time.advance(100)
        expect(time.timers).toBe(0)
        const byTime = (a: [number, number], b: [number, number]): number => a[1] - b[1] || a[0] - b[0]
        expect(fired.toSorted(byTime)).toEqual(expected.toSorted(byTime))
        expect(fired.map(([, at]) => at)).toEqual(fired.map(([, at]) => at).toSorted((a, b) => a - b))
      }),
      { numRuns: 100 },
    )
  })

  it('takes along what may come early, but does not fire early for its sake', async () => {
    const time = new VirtualTime()
    const batches: string[][] = []
    const schedule = new Schedule<string>(time, (items) => batches.push(items))
    schedule.set(new Entry('first'), time.now() + 100, 50)
    schedule.set(new Entry('second'), time.now() + 140, 50)
    schedule.set(new Entry('third'), time.now() + 160, 50)
    await time.advance(99)
    expect(batches).toEqual([])
    await time.advance(1)
    expect(batches).toEqual([['first', 'second']])
    await time.advance(60)
    expect(batches).toEqual([['first', 'second'], ['third']])
  })

  it('needs one timer for ten thousand entries, and none after close', () => {
    const time = new VirtualTime()
    const schedule = new Schedule<number>(time, () => {})
    for (let i = 0; i < 10_000; i += 1) schedule.set(new Entry(i), time.now() + ((i * 7919) % 10_007))
    expect(time.timers).toBe(1)
    schedule.close()
    expect(time.timers).toBe(0)
    schedule.set(new Entry(1), 0)
    expect(time.timers).toBe(0)
  })

  // A timer keeps the context that it was set in, and runs in it; the next one is set there.
  it('sets its timer in the context of nobody who adds to it', () => {
    const request = new AsyncLocalStorage<string>()
    const time = new VirtualTime()
    const seen: unknown[] = []
    time.setTimer = () => seen.push(request.getStore())
    const schedule = new Schedule<number>(time, () => {})
    request.run('the first', () => schedule.set(new Entry(1), time.now() + 100))
    request.run('the second', () => schedule.set(new Entry(2), time.now() + 50))
    expect(seen).toEqual([undefined, undefined])
  })
})
