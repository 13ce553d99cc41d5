import { describe, expectTypeOf, it } from 'vitest'
import type { Locks, LockError } from '../../src/index.ts'
import { world } from './support/world.ts'

/** Compiled, with the rest of the tests, by `npm run types`; here it only has to run. */
const { locks } = world()
const take = async (_sku: string, count: number): Promise<number> => count

describe('the types of lockable', () => {
  it('the key function sees the parameters, and may take fewer', () => {
    const locked = locks.lockable(take, {
      key: (sku, count) => {
        expectTypeOf(sku).toEqualTypeOf<string>()
        expectTypeOf(count).toEqualTypeOf<number>()
        return [sku, String(count)]
      },
    })
    expectTypeOf(locked).parameters.toEqualTypeOf<[_sku: string, count: number]>()
    expectTypeOf(locked).returns.toEqualTypeOf<Promise<number>>()
    const fewer = locks.lockable(take, { key: (sku) => sku })
    expectTypeOf(fewer).parameters.toEqualTypeOf<[_sku: string, count: number]>()
    const optional = locks.lockable(async (_id?: string) => {}, { key: (id = 'none') => id })
    expectTypeOf(optional).parameters.toEqualTypeOf<[_id?: string | undefined]>()
  })

  it('so do those of context and signal', () => {
    locks.lockable(async (_id: number, _stop?: AbortSignal) => {}, {
      key: 'k',
      context: (id) => {
        expectTypeOf(id).toEqualTypeOf<number>()
        return { id }
      },
      signal: (id, stop) => {
        expectTypeOf(id).toEqualTypeOf<number>()
        return stop
      },
    })
  })

  it('a function that was not async becomes it', () => {
    expectTypeOf(locks.lockable(() => 1, { key: 'k' })).returns.toEqualTypeOf<Promise<number>>()
  })

  it('this is kept, and the functions of the options have it', () => {
    const locked = locks.lockable(
      function (this: { tenant: string }, sku: string) {
        return sku.length
      },
      {
        key(sku) {
          expectTypeOf(this).toEqualTypeOf<{ tenant: string }>()
          return `${this.tenant}:${sku}`
        },
        onFail: {
          fallback() {
            return this.tenant
          },
        },
      },
    )
    expectTypeOf(locked).thisParameter.toEqualTypeOf<{ tenant: string }>()
    expectTypeOf(locked).returns.toEqualTypeOf<Promise<number | string>>()
  })

  it('the result follows onFail', () => {
    const base = { key: 'k' } as const
    expectTypeOf(locks.lockable(take, { ...base, onFail: 'throw' })).returns.resolves.toEqualTypeOf<number>()
    expectTypeOf(
      locks.lockable(take, { ...base, onFail: { retry: 3 } }),
    ).returns.resolves.toEqualTypeOf<number>()
    expectTypeOf(locks.lockable(take, { ...base, onFail: 'null' })).returns.resolves.toEqualTypeOf<
      number | null
    >()
    const either = 'null' as 'null' | 'throw'
    expectTypeOf(locks.lockable(take, { ...base, onFail: either })).returns.resolves.toEqualTypeOf<
      number | null
    >()
    const withFallback = locks.lockable(take, {
      ...base,
      onFail: {
        fallback: async (error, sku, count) => {
          expectTypeOf(error).toEqualTypeOf<LockError>()
          expectTypeOf(sku).toEqualTypeOf<string>()
          expectTypeOf(count).toEqualTypeOf<number>()
          return 'none'
        },
      },
      on: ['unavailable'],
    })
    expectTypeOf(withFallback).returns.resolves.toEqualTypeOf<number | string>()
  })

  it('what does not fit does not compile', () => {
    // Only for the compiler.
    void ((client: Locks) => {
      // @ts-expect-error the key function takes a number, the function a string
      client.lockable(take, { key: (sku: number) => String(sku) })
      // @ts-expect-error a key is needed
      client.lockable(take, {})
      // @ts-expect-error a key is no number
      client.lockable(take, { key: () => 7 })
      // @ts-expect-error a key is made at once
      client.lockable(take, { key: async (sku) => sku })
      // @ts-expect-error no such strategy
      client.lockable(take, { key: 'k', onFail: 'ignore' })
      // @ts-expect-error no such cause
      client.lockable(take, { key: 'k', onFail: 'null', on: ['lost'] })
      // @ts-expect-error the fallback takes what the function takes
      client.lockable(take, { key: 'k', onFail: { fallback: (_error: LockError, count: number) => count } })
    })
  })
})
