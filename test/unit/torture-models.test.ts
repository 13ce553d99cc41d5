import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linearizable, type Model, type Operation } from '../torture/models/linearizable.ts'
import {
  fencedMutex,
  type LockStep,
  mutex,
  ownerAwareMutex,
  reentrantFencedMutex,
  reentrantMutex,
} from '../torture/models/locks.ts'

type Step = Operation<LockStep>

const acquire = (client: string, from: number, to: number, fence = 0): Step => ({
  ...{ from, to },
  does: { is: 'acquire', client, fence: BigInt(fence) },
})
const release = (client: string, from: number, to: number): Step => ({
  ...{ from, to },
  does: { is: 'release', client, fence: 0n },
})

describe('the lock models', () => {
  it('mutex: nobody acquires what is held, and nobody releases what is free', () => {
    const first = [acquire('a', 1, 2), release('a', 5, 8)]
    expect(linearizable(mutex, [...first, acquire('b', 3, 6)])).toBe(true)
    expect(linearizable(mutex, [...first, acquire('b', 3, 4)])).toBe(false)
    expect(linearizable(mutex, [...first, release('b', 9, 10)])).toBe(false)
  })

  it('owner-aware mutex: only the owner releases', () => {
    const stolen = [acquire('a', 1, 2), release('b', 3, 4)]
    expect(linearizable(mutex, stolen)).toBe(true)
    expect(linearizable(ownerAwareMutex, stolen)).toBe(false)
    expect(linearizable(ownerAwareMutex, [acquire('a', 1, 2), release('a', 3, 4)])).toBe(true)
  })

  it('re-entrant mutex: the owner may acquire again, and releases as often', () => {
    const twice = [acquire('a', 1, 2), acquire('a', 3, 4), release('a', 5, 6)]
    const next = acquire('b', 9, 10)
    expect(linearizable(ownerAwareMutex, twice)).toBe(false)
    expect(linearizable(reentrantMutex, [...twice, release('a', 7, 8), next])).toBe(true)
    expect(linearizable(reentrantMutex, [...twice, next])).toBe(false)
  })

  it('fenced mutex: fences rise', () => {
    const first = [acquire('a', 1, 2, 7), release('a', 3, 4)]
    expect(linearizable(fencedMutex, [...first, acquire('b', 5, 6, 8)])).toBe(true)
    expect(linearizable(fencedMutex, [...first, acquire('b', 5, 6, 7)])).toBe(false)
    // Asked for before, so it may have had its turn before.
    expect(linearizable(fencedMutex, [...first, acquire('b', 0, 6, 6), release('b', 0, 6)])).toBe(true)
  })

  it('re-entrant fenced mutex: the same fence inside', () => {
    const inside = (fence: number): Step[] => [acquire('a', 1, 2, 7), acquire('a', 3, 4, fence)]
    expect(linearizable(reentrantFencedMutex, inside(7))).toBe(true)
    expect(linearizable(reentrantFencedMutex, inside(8))).toBe(false)
  })
})

describe('the search', () => {
  it('lets what was never answered happen late, or not at all', () => {
    const held = [acquire('a', 1, 2), acquire('b', 5, 6)]
    expect(linearizable(mutex, held)).toBe(false)
    expect(linearizable(mutex, [...held, release('a', 3, Infinity)])).toBe(true)
    expect(linearizable(mutex, [...held, release('a', 7, Infinity)])).toBe(false)
    expect(linearizable(mutex, [acquire('a', 1, Infinity), acquire('b', 5, 6)])).toBe(true)
  })

  it('says so when it was too much', () => {
    const many = Array.from({ length: 14 }, (_, i) => acquire(`c${i}`, 0, 100))
    expect(linearizable(ownerAwareMutex, many, 10)).toBe(null)
    expect(linearizable(mutex, many)).toBe(false)
  })

  it('finds an order for whatever was made from one', () => {
    const turns = fc.array(fc.tuple(fc.nat(30), fc.nat(30), fc.nat(3)), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(turns, (drawn) => {
        const steps = drawn.flatMap(([before, after, client], i) => [
          acquire(`c${client}`, 10 * i - before, 10 * i + after, i + 1),
          release(`c${client}`, 10 * i + 5 - before, 10 * i + 5 + after),
        ])
        expect(linearizable(fencedMutex, steps)).toBe(true)
        expect(linearizable(reentrantFencedMutex, steps)).toBe(true)
      }),
    )
  })

  it('says the same as trying every order', () => {
    const step = fc.tuple(fc.boolean(), fc.nat(2), fc.nat(8), fc.nat(6), fc.integer({ min: 1, max: 3 }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (drawn) => {
        const steps = drawn.map(([acquires, client, from, length, fence]) =>
          acquires
            ? acquire(`c${client}`, from, from + length, fence)
            : release(`c${client}`, from, from + length),
        )
        for (const model of [mutex, ownerAwareMutex, fencedMutex] as Model<LockStep, unknown>[]) {
          expect(linearizable(model, steps)).toBe(tryAll(model, model.start, steps))
        }
      }),
      { numRuns: 300 },
    )
  })
})

function tryAll(model: Model<LockStep, unknown>, state: unknown, left: readonly Step[]): boolean {
  if (left.length === 0) return true
  return left.some((step) => {
    const rest = left.filter((other) => other !== step)
    if (rest.some(({ to }) => to < step.from)) return false
    const after = model.step(state, step.does)
    return after !== null && tryAll(model, after, rest)
  })
}
