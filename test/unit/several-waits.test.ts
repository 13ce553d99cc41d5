import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { gate, track, type World, world } from './support/world.ts'

/** The waits of all time-outs, in events and in log lines. */
function listen(locks: Locks): number[] {
  const told: number[] = []
  locks.on('timeout', ({ waitedMs }) => told.push(Math.round(waitedMs)))
  return told
}

function logged(): { world: World; lines: string[] } {
  const lines: string[] = []
  const logger = { debug: (line: string) => void (line.includes('gave up') && lines.push(line)) }
  return { world: world({ logger }), lines }
}

describe('several keys, waited for one after the other', () => {
  it('a time-out tells the whole wait: in the error, the event and the log', async () => {
    const { world: staged, lines } = logged()
    const { time, locks, other } = staged
    const two = other()
    const told = listen(locks)
    const a = await two.acquire('a', { lease: '1h' })
    await two.acquire('b', { lease: '1h' })
    const both = track(locks.acquire(['a', 'b'], { wait: 1_000 }))
    await time.advance(600)
    await a.release()
    await time.advance(100)
    expect(both.settled).toBe(false)
    await time.advance(300)
    expect(both.error).toMatchObject({
      code: 'LOCK_ACQUIRE_TIMEOUT',
      key: 'b',
      message: /"b", one of 2 keys, within 1000 ms; it is held by two/,
    })
    expect(told).toEqual([1_000])
    expect(lines).toEqual([expect.stringContaining('gave up on "b" after 1000 ms; held by two')])
    expect((await two.list()).locks.map(({ key }) => key)).toEqual(['b'])
    await Promise.all([locks.close(), two.close()])
  })

  it('so does one behind another call inside the same section', async () => {
    const { time, locks, other } = world()
    const two = other()
    const told = listen(locks)
    const a = await two.acquire('a', { lease: '1h' })
    const end = gate()
    const outer = locks.using('b', async () => {
      const sibling = locks.using('b', () => end.promise)
      const both = track(locks.acquire(['a', 'b'], { wait: 1_000 }))
      await time.advance(600)
      await a.release()
      await time.advance(400)
      end.open()
      await sibling
      return both.error
    })
    expect(await outer).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT', key: 'b', message: /within 1000 ms/ })
    expect(told).toEqual([1_000])
    await Promise.all([locks.close(), two.close()])
  })
})
