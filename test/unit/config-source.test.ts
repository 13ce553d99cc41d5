import { describe, expect, it } from 'vitest'
import { locksFromConfig } from '../../src/config/index.ts'
import { Centre, stage } from './support/config-centre.ts'
import { VirtualTime } from './support/virtual-time.ts'
import { gate, track } from './support/world.ts'

describe('a source', () => {
  it('that ends leaves the last settings', async () => {
    const centre = new Centre({ lease: '10s' })
    const { time, leaseOf, errors, arrive } = await stage(centre)
    await arrive()
    centre.end()
    await arrive()
    expect(errors).toEqual([])
    expect(time.timers).toBe(0)
    expect(await leaseOf('a')).toBe(10_000)
  })

  it('that throws is reported, and asked no more if it cannot be opened again', async () => {
    const centre = new Centre({ lease: '10s' })
    const { time, leaseOf, errors, arrive } = await stage(centre)
    await arrive()
    centre.fail(new Error('redis://:hunter2@host is down'))
    await arrive()
    expect(errors.map(({ message }) => message)).toEqual([
      'configuration: source: it has failed; the last valid settings stay in force',
    ])
    expect(time.timers).toBe(0)
    expect(await leaseOf('a')).toBe(10_000)
  })

  it('that can be opened again is, less and less often, and reported once until it is well', async () => {
    const time = new VirtualTime()
    const openings: number[] = []
    async function* source(): AsyncGenerator {
      openings.push(time.now())
      yield { lease: `${openings.length}s` }
      throw Object.assign(new Error('cut'), { code: 'ECONNRESET' })
    }
    const staged = await stage(source, { environment: time })
    await time.advance(600_000)
    const pauses = openings.slice(2).map((at, index) => at - openings[index + 1]!)
    expect(pauses.slice(0, 3).map((ms) => Math.round(ms / 1000))).toEqual([2, 3, 6])
    expect(Math.max(...pauses)).toBeGreaterThan(40_000)
    expect(openings.length).toBeLessThan(25)
    expect(staged.errors.map(({ message }) => message)).toEqual([
      'configuration: source: it has failed (ECONNRESET), it is asked again after a pause; the last valid settings stay in force',
    ])
    expect(await staged.leaseOf('a')).toBe(openings.length * 1000)
  })

  it('that never pauses does not take the process', async () => {
    let given = 0
    async function* source(): AsyncGenerator {
      for (;;) yield { lease: 1000 + (given += 1) }
    }
    const { time } = await stage(source())
    await time.advance(1000)
    expect(given).toBeLessThan(15)
  })

  it('that gives nothing is given up', async () => {
    const time = new VirtualTime()
    const never = gate()
    let signal: AbortSignal | undefined
    const source = (given: AbortSignal): AsyncIterable<unknown> => {
      signal = given
      return (async function* () {
        await never.promise
        yield {}
      })()
    }
    const starting = track(locksFromConfig({ source, env: {}, environment: time }))
    await time.advance(29_900)
    expect(starting.settled).toBe(false)
    await time.advance(1000)
    expect(starting.error).toMatchObject({ code: 'INVALID_OPTION' })
    expect(String(starting.error)).toContain('gave no configuration within 30 s')
    expect(signal?.aborted).toBe(true)
    expect(time.timers).toBe(0)
  })
})

describe('close', () => {
  it('ends the source: its iterator returns, its signal aborts, no timer is left', async () => {
    const centre = new Centre({})
    let signal: AbortSignal | undefined
    const { time, locks, errors } = await stage((given) => {
      signal = given
      return centre
    })
    const closing = locks.close()
    await time.advance(1)
    await closing
    expect(centre.returned).toBe(true)
    expect(signal?.aborted).toBe(true)
    expect(time.timers).toBe(0)
    centre.give({ lease: 'wrong' })
    await time.advance(1000)
    expect(errors).toEqual([])
  })

  it('does not wait for a source that does not end', async () => {
    const never = gate()
    async function* source(): AsyncGenerator {
      yield {}
      await never.promise
    }
    const { time, locks, arrive } = await stage(source())
    await arrive()
    const closing = track(locks.close())
    await time.advance(1000)
    expect(closing.settled).toBe(true)
    expect(time.timers).toBe(0)
  })

  it('does not mind a source that fails on it', async () => {
    const centre = new Centre({})
    centre.return = () => Promise.reject(new Error('no'))
    const { time, locks, errors } = await stage(centre)
    const closing = track(locks.close())
    await time.advance(1000)
    expect(closing).toMatchObject({ settled: true, value: undefined })
    expect(errors).toEqual([])
  })
})
