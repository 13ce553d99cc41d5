import { describe, expect, it } from 'vitest'
import { memoryFence } from '../../src/fence/index.ts'
import { world } from './support/world.ts'

describe('memoryFence', () => {
  it('refuses a token lower than the highest seen, and says which both are', () => {
    const guard = memoryFence()
    guard.check('stock:7', 5n)
    guard.check('stock:7', 9n)
    expect(() => guard.check('stock:7', 8n)).toThrow(
      expect.objectContaining({
        code: 'STALE_TOKEN',
        key: 'stock:7',
        message: expect.stringMatching(/\b8\b.*\b9\b/),
      }),
    )
    expect(guard.highest('stock:7')).toBe(9n)
  })

  it('lets an equal token pass again, unless it is strict', () => {
    const guard = memoryFence()
    guard.check('r', 5n)
    guard.check('r', 5n)
    expect(() => guard.check('r', 5n, { strict: true })).toThrow(
      expect.objectContaining({ code: 'STALE_TOKEN' }),
    )
    const strict = memoryFence({ strict: true })
    strict.check('r', 5n)
    expect(() => strict.check('r', 5n)).toThrow(expect.objectContaining({ code: 'STALE_TOKEN' }))
    strict.check('r', 5n, { strict: false })
    strict.check('r', 6n)
  })

  it('keeps resources apart, whatever they are called', () => {
    const guard = memoryFence()
    for (const name of ['a', '__proto__', 'constructor', 'ä', 'a\u0308', '%', '"; drop table x; --']) {
      guard.check(name, 9n)
      guard.check(`${name}.`, 1n)
    }
    expect(guard.size).toBe(14)
  })

  it('forgets when told to, and then lets any token pass', () => {
    const guard = memoryFence()
    guard.check('r', 9n)
    expect(guard.forget('r')).toBe(true)
    expect(guard.forget('r')).toBe(false)
    expect(guard.highest('r')).toBeNull()
    guard.check('r', 1n)
  })

  it('takes a lease, and after a rotation its newer token and nothing older', async () => {
    const { time, locks } = world({ lease: '9s' })
    const guard = memoryFence()
    const lease = await locks.acquire('r', { rotateToken: '4s' })
    const before = lease.token
    guard.check('r', lease)
    guard.check('r', before)
    await time.advance(10_000)
    expect(lease.token).toBeGreaterThan(before)
    guard.check('r', before)
    guard.check('r', lease)
    expect(() => guard.check('r', before)).toThrow(expect.objectContaining({ code: 'STALE_TOKEN' }))
    await locks.close()
  })
})

describe('bad input to a guard', () => {
  const guard = memoryFence()

  it.each([
    ['text', '7', /BigInt\(text\)/],
    ['a number', 7, /BigInt\(text\)/],
    ['nothing', undefined, /undefined/],
    ['null', null, /this is null$/],
    ['an object without a token', {}, /undefined/],
    ['a lease whose token is a number', { token: 7 }, /BigInt\(text\)/],
    ['zero', 0n, /no token/],
    ['less than nothing', -5n, /no token/],
    ['more than 64 bits hold', 2n ** 63n, /no token/],
  ])('a token that is %s is an INVALID_OPTION that says what to give', (_, token, message) => {
    expect(() => guard.check('r', token as bigint)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
    )
    expect(guard.highest('r')).toBeNull()
  })

  it('the highest token there can be passes', () => {
    const own = memoryFence()
    own.check('r', BigInt(Number.MAX_SAFE_INTEGER) * 1024n + 1023n)
    expect(own.highest('r')).toBe(2n ** 63n - 1n)
  })

  it.each([
    ['', /a resource must not be empty/],
    [7n, /^a resource must be a string, not bigint$/],
    ['a\u0000b', /^resource .*control character/],
    ['\ud800', /^resource .*surrogate/],
    ['lock key'.repeat(65), /^resource "lock key/],
    [{ key: 'stock:7' }, /a resource must be a string.*its key is "stock:7"/],
    [{ key: 'stock:7', token: 7n }, /not a lease; the resource comes first, then the lease/],
  ])('resource %o is refused by the rule for keys, as a resource', (resource, message) => {
    for (const call of [
      () => guard.check(resource as string, 5n),
      () => guard.highest(resource as string),
      () => guard.forget(resource as string),
    ]) {
      expect(call).toThrow(
        expect.objectContaining({ code: 'INVALID_LOCK_KEY', message: expect.stringMatching(message) }),
      )
    }
  })

  it('unknown options and wrong flags are refused', () => {
    const refused = expect.objectContaining({ code: 'INVALID_OPTION' })
    expect(() => memoryFence({ stict: true } as object)).toThrow(refused)
    expect(() => memoryFence({ strict: 'yes' } as object)).toThrow(refused)
    expect(() => memoryFence(null as never)).toThrow(refused)
    expect(() => guard.check('r', 5n, { strict: 1 } as object)).toThrow(refused)
    expect(() => guard.check('r', 5n, { stict: true } as object)).toThrow(refused)
  })
})
