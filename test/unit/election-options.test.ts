import { describe, expect, it } from 'vitest'
import { world } from './support/world.ts'

type Elect = (name: unknown, ...given: unknown[]) => unknown

const lead = (): void => {
  throw new Error('elected')
}

describe('bad input is refused at the call', () => {
  it.each<[string, unknown[], RegExp]>([
    ['a function that is undefined', [undefined], /elect: give a function that leads/],
    ['one that is undefined, with options', [undefined, {}], /elect: give a function that leads/],
    ['two sets of options', [{}, {}], /elect: give a function that leads/],
    ['a text', ['work'], /elect: give a function that leads/],
    ['null', [null], /elect: options must be an object/],
    ['null behind the function', [lead, null], /elect: options must be an object/],
    ['wait: it waits for ever', [lead, { wait: '5s' }], /elect: unknown option 'wait'; known are lease, /],
    ['a bad lease', [lead, { lease: 1 }], /lease: 1 is too short/],
    ['a bad pause', [lead, { pause: 'a while' }], /pause: 'a while' is not a duration/],
    ['no pause', [lead, { pause: 0 }], /pause: 0 is too short; it must be at least 10 ms/],
    ['a bad signal', [{ signal: {} }], /signal: give an AbortSignal/],
    ['a token that rises too seldom', [lead, { lease: '1s', rotateToken: '1s' }], /rotateToken: the lease/],
    ['a context that is too long', [lead, { context: 'x'.repeat(5000) }], /context: at most/],
  ])('%s', async (_what, given, says) => {
    const { time, locks, store } = world()
    expect(() => (locks.elect as Elect)('boss', ...given)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(says) }),
    )
    await time.settle()
    expect(store.calls).toEqual([])
    await locks.close()
  })

  it('a bad name', async () => {
    const { locks } = world()
    for (const name of ['', 'a\nb', 'x'.repeat(513), 5, undefined]) {
      expect(() => (locks.elect as Elect)(name, lead)).toThrow(
        expect.objectContaining({ code: 'INVALID_LOCK_KEY' }),
      )
    }
    await locks.close()
  })

  it('a name for which this client stands already, until that election has ended', async () => {
    const { time, locks } = world()
    const first = locks.elect('boss', () => {})
    expect(() => locks.elect('boss', lead)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    await first.stop()
    await locks.elect('boss', () => {}).stop()
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

it('options may stand before the function, as with using', async () => {
  const { time, locks } = world()
  let led = ''
  locks.elect('boss', { context: 'why', lease: '7s' }, async (term) => {
    led = term.name
    await new Promise((resolve) => term.signal.addEventListener('abort', resolve))
  })
  await time.settle()
  expect(led).toBe('boss')
  expect(await locks.inspect('boss')).toMatchObject({ leaseMs: 7000, holder: { context: 'why' } })
  await locks.close()
})

it('a lease that is not given is that of the client at the time of each election', async () => {
  const { time, locks } = world({ lease: '20s' })
  const leases: (number | undefined)[] = []
  locks.elect('boss', async () => void leases.push((await locks.inspect('boss'))?.leaseMs))
  await time.settle()
  locks.configure({ lease: '9s' })
  await time.advance(1250)
  expect(leases).toEqual([20_000, 9000])
  await locks.close()
})
