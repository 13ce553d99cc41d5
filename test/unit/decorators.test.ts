import { describe, expect, it } from 'vitest'
import { type LockedOptions, locked } from '../../src/decorators.ts'
import { currentLease, type Locks } from '../../src/index.ts'
import { gate, world } from './support/world.ts'

/**
 * Both kinds of decorators, applied as compiled code does it: what runs the tests knows no decorators.
 * `test/package/decorators.test.ts` has them compiled.
 */
type Method = (this: never, ...args: never[]) => Promise<unknown>
type Apply = (decorator: (...args: never[]) => unknown, method: unknown, name?: string) => Method

const standard: Apply = (decorator, method, name = 'take') => {
  const context = { kind: 'method', name, static: false, private: false }
  return decorator(method as never, context as never) as Method
}

const legacy: Apply = (decorator, method, name = 'take') => {
  const prototype = { [name]: method }
  const before = Object.getOwnPropertyDescriptor(prototype, name)
  const after = decorator(prototype as never, name as never, before as never)
  expect(after).toMatchObject({ writable: true, configurable: true })
  Object.defineProperty(prototype, name, after as PropertyDescriptor)
  return prototype[name] as Method
}

const kinds: readonly (readonly [string, Apply])[] = [
  ['standard', standard],
  ['experimental', legacy],
]

describe.each(kinds)('@locked, %s', (_kind, apply) => {
  it('keeps this, arguments, name and result, and the lease is the current one', async () => {
    const { locks } = world()
    const method = async function take(this: { tenant: string }, sku: string, count: number) {
      return [this.tenant, sku, count, currentLease()?.key]
    }
    const shop = { tenant: 't1', take: apply(locked(locks, { key: 'stock:{self.tenant}:{0}' }), method) }
    expect(shop.take.name).toBe('take')
    expect(shop.take.length).toBe(2)
    await expect(Reflect.apply(shop.take, shop, ['a', 2])).resolves.toEqual(['t1', 'a', 2, 'stock:t1:a'])
    await locks.close()
  })

  it('excludes', async () => {
    const { time, locks } = world()
    const busy = gate()
    const begun: string[] = []
    const method = async (sku: string): Promise<void> => {
      begun.push(sku)
      await busy.promise
    }
    const take = apply(locked(locks, { key: 'stock:{0}' }), method) as typeof method
    const all = [take('a'), take('a'), take('b')]
    await time.settle()
    expect(begun).toEqual(['a', 'b'])
    busy.open()
    await Promise.all(all)
    expect(begun).toEqual(['a', 'b', 'a'])
    await locks.close()
  })

  it('finds the client when the method is called, for each instance its own', async () => {
    const one = world()
    const two = world()
    const method = async function look(this: { locks: Locks }, _id: number): Promise<string[][]> {
      expect([one.locks, two.locks].includes(this.locks)).toBe(true)
      return Promise.all([one.store.heldKeys(), two.store.heldKeys()])
    }
    const look = apply(
      locked((self: { locks: Locks }) => self.locks, { key: 'k:{0}' }),
      method,
    )
    const on = (locks?: Locks): Promise<unknown> => Reflect.apply(look, { locks }, [7])
    expect([look.name, look.length]).toEqual(['look', 1])
    await expect(on(one.locks)).resolves.toEqual([['k:7'], []])
    await expect(on(two.locks)).resolves.toEqual([[], ['k:7']])
    await expect(on(one.locks)).resolves.toEqual([['k:7'], []])
    await expect(on()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('the client of "look" gave none'),
    })
    await one.locks.close()
    await two.locks.close()
  })

  it('refuses a promise of a client, and leaves no rejection behind', async () => {
    const unhandled: unknown[] = []
    const listener = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', listener)
    const find = (): never => Promise.reject(new Error('no client')) as never
    const call = apply(locked(find, { key: 'k' }), async () => {})
    await expect(Reflect.apply(call, {}, [])).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('gave a promise'),
    })
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', listener)
    expect(unhandled).toEqual([])
  })

  it('follows onFail', async () => {
    const { locks, other } = world({ wait: 0 })
    const holder = other()
    await holder.acquire('k')
    const call = (options: object): Promise<unknown> => {
      const method = apply(locked(locks, { key: 'k', ...options }), async () => 'ran')
      return Reflect.apply(method, { name: 'shop' }, [3])
    }
    await expect(call({})).rejects.toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await expect(call({ onFail: 'null' })).resolves.toBeNull()
    const fallback = function (this: unknown, ...args: unknown[]): unknown {
      return [this, ...args]
    }
    await expect(call({ onFail: { fallback } })).resolves.toEqual([
      { name: 'shop' },
      expect.objectContaining({ code: 'LOCK_ACQUIRE_TIMEOUT' }),
      3,
    ])
    await locks.close()
    await holder.close()
  })

  it.each([
    ['a generator', function* many() {}],
    ['an async generator', async function* many() {}],
  ])('refuses %s when it is declared', (_what, method) => {
    const { locks } = world()
    for (const source of [locks, () => locks]) {
      expect(() => apply(locked(source, { key: 'k' }), method)).toThrow(
        expect.objectContaining({
          code: 'INVALID_OPTION',
          message: expect.stringMatching(/"many" is a generator/),
        }),
      )
    }
  })
})

describe('@locked refuses, when it is declared', () => {
  const { locks } = world()
  const refusal = (says: string): unknown =>
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(says) })
  const place = locked(locks, { key: 'k' }) as (...args: unknown[]) => unknown
  class Whole {
    size = 1
  }
  const accessor = { get: () => 1, set: undefined, enumerable: false, configurable: true }

  it.each<[string, unknown[], string]>([
    ['a getter', [() => 1, { kind: 'getter', name: 'size' }], 'the getter "size"'],
    ['a setter', [() => 1, { kind: 'setter', name: 'size' }], 'the setter "size"'],
    ['a field', [undefined, { kind: 'field', name: Symbol('s') }], 'the field "Symbol(s)"'],
    ['an accessor', [{}, { kind: 'accessor', name: '#size' }], 'the accessor "#size"'],
    ['a class', [Whole, { kind: 'class', name: 'Stock' }], 'the class "Stock"'],
    ['a class without a name', [Whole, { kind: 'class', name: undefined }], 'not on a class'],
    ['experimental: a getter', [{}, 'size', accessor], 'the accessor "size"'],
    ['experimental: a field', [{}, 'size', undefined], 'the field "size"'],
    ['experimental: a field that holds no method', [{}, 'size', { value: 1 }], 'the field "size"'],
    ['experimental: a class', [Whole], 'not on a class'],
    ['experimental: a parameter', [{}, 'size', 0], 'the parameter "size"'],
  ])('%s', (_what, args, says) => {
    expect(() => place(...args)).toThrow(refusal('locked: it belongs on an async method, not on '))
    expect(() => place(...args)).toThrow(refusal(says))
  })

  it.each<[string, unknown, unknown, string]>([
    ['no client', undefined, { key: 'k' }, 'locked: give the client that createLocks made'],
    ['something else', {}, { key: 'k' }, 'locked: give the client that createLocks made'],
    ['a malformed template', locks, { key: '{sku}' }, 'is no placeholder'],
    ['a malformed template of a client found later', () => locks, { key: '{sku}' }, 'is no placeholder'],
    ['an unknown option', () => locks, { key: 'k', timeout: 1 }, "unknown option 'timeout'"],
    ['no options', () => locks, undefined, 'options must be an object'],
  ])('%s', (_what, client, options, says) => {
    const declare = (): unknown => locked(client as Locks, options as LockedOptions<unknown, Method>)
    expect(declare).toThrow(refusal(says))
  })
})
