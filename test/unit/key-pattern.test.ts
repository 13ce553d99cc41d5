import { describe, expect, it } from 'vitest'
import { patternOf } from '../../src/key-pattern.ts'
import { world } from './support/world.ts'

describe('a pattern', () => {
  it.each([
    ['report:*', 'report:daily', true],
    ['report:*', 'report:', true],
    ['report:*', 'reports:daily', false],
    ['*:daily', 'report:daily', true],
    ['*', 'anything at all', true],
    ['a*b*c', 'a--b--c', true],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'acb', false],
    ['ab*bc', 'abc', false],
    ['a*a', 'a', false],
    ['a**b', 'ab', true],
    ['a**b', 'acb', true],
    ['a***', 'abc', true],
    ['**', '', true],
    ['abab*', 'aba', false],
    ['plain', 'plain', true],
    ['plain', 'plainer', false],
    ['a.c', 'abc', false],
    ['(a|b)*', 'a', false],
  ])('%s and %s: %s', (text, key, fits) => {
    expect(patternOf(text, {}).matches(key)).toBe(fits)
  })

  it('with many stars is not slow on a long key', () => {
    const start = performance.now()
    expect(patternOf(`${'a*'.repeat(200)}b`, {}).matches('a'.repeat(512))).toBe(false)
    expect(performance.now() - start).toBeLessThan(50)
  })
})

/** As many as there may be, and one more. */
const MANY = Array.from({ length: 1001 }, (_, i) => `${i}*`)

describe('defaults by key', () => {
  const keys = {
    'report:*': { lease: '10m', wait: 0 },
    'report:daily:*': { lease: '20m' },
    '*': { wait: '1s' },
  } as const

  it('the pattern with the most characters of its own counts, the call before all', async () => {
    const { locks } = world({ lease: '5s', keys })
    const left = async (key: string | string[], options = {}): Promise<number> => {
      const lease = await locks.acquire(key, options)
      const { remainingMs } = lease
      await lease.release()
      return Math.round(remainingMs / 0.95 / 1000)
    }
    expect(await left('report:x')).toBe(600)
    expect(await left('report:daily:x')).toBe(1200)
    expect(await left('other')).toBe(5)
    expect(await left('report:x', { lease: '40s' })).toBe(40)
    expect(await left(['other', 'report:x'])).toBe(600)
    await locks.close()
  })

  it('wait, atLeast, once and transactions go by it too', async () => {
    const { time, locks, other } = world({ keys: { 'job:*': { wait: 0, atLeast: '5s' } } })
    const two = other()
    await locks.using('job:x', () => {})
    expect(await two.inspect('job:x')).not.toBeNull()
    await expect(locks.acquire('job:x')).rejects.toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await time.advance(5_000)
    expect(await two.inspect('job:x')).toBeNull()
    await two.close()
    await locks.close()
  })

  it('configure replaces the patterns, keeps them if it names none, and drops no lease', async () => {
    const { locks } = world({ lease: '5s', keys })
    const held = await locks.acquire('report:x')
    const leftOf = async (key: string): Promise<number> => {
      const lease = await locks.acquire(key)
      const { remainingMs } = lease
      await lease.release()
      return Math.round(remainingMs / 0.95 / 1000)
    }
    locks.configure({ lease: '7s' })
    expect(await leftOf('report:y')).toBe(600)
    expect(await leftOf('other')).toBe(7)
    locks.configure({ keys: { 'other*': { lease: '9s' } } })
    expect(await leftOf('report:y')).toBe(7)
    expect(await leftOf('other')).toBe(9)
    expect(held.held).toBe(true)
    await locks.close()
  })

  it('an atLeast that is longer than the lease of a call is as long as that', async () => {
    const { time, store, locks } = world()
    locks.configure({ keys: { 'job:*': { atLeast: '10s' } } })
    for (const [lease, keptMs] of [
      ['5s', 5_000],
      ['15s', 10_000],
    ] as const) {
      const held = await locks.acquire('job:1', { lease })
      const since = time.now()
      expect(await held.release()).toBe(true)
      while ((await store.heldKeys()).length > 0) await time.advance(100)
      expect(time.now() - since).toBeLessThan(keptMs + 200)
      expect(time.now() - since).toBeGreaterThan(keptMs - 200)
    }
    await expect(locks.acquire('job:1', { lease: '5s', atLeast: '6s' })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    })
    await locks.close()
  })

  it.each([
    ['no object', 5, /keys: give an object/],
    ['a list', [], /keys: give an object/],
    ['an empty pattern', { '': {} }, /must not be empty/],
    [
      'a pattern longer than a key',
      { ['*'.repeat(513)]: {} },
      /keys\['\*{80}'\]: .* 513 char.* limit is 512/,
    ],
    ['too many patterns', Object.fromEntries(MANY.map((text) => [text, {}])), /1001 patterns, .* is 1000/],
    ['an unknown name', { 'a*': { leas: 5 } }, /keys\['a\*'\]: unknown option 'leas'/],
    ['no object inside', { 'a*': 5 }, /keys\['a\*'\]: options must be an object/],
    ['a lease that is too short', { 'a*': { lease: 5 } }, /keys\['a\*'\]\.lease/],
    ['a wrong duration', { 'a*': { wait: 'soon' } }, /keys\['a\*'\]\.wait/],
    ['a hold longer than its lease', { 'a*': { lease: '1s', atLeast: '2s' } }, /keys\['a\*'\]\.atLeast/],
    ['a hold longer than the lease of all', { 'a*': { atLeast: '2m' } }, /keys\['a\*'\]\.atLeast/],
  ])('%s is INVALID_OPTION', async (_name, bad, says) => {
    expect(() => world({ keys: bad as never })).toThrow(says)
    const { locks } = world()
    expect(() => locks.configure({ keys: bad as never })).toThrow(says)
    await locks.close()
  })
})
