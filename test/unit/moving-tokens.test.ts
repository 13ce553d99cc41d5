import { describe, expect, it } from 'vitest'
import type { Ask, RenewalAnswer, Store } from '../../src/store.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { broken, held, house, isFault, MINUTE, slowed, turnsOfTheLoop } from './support/houses.ts'

/** By how much the clock of `from` is ahead, and that of `to`. */
const AHEAD = [
  [0, 0],
  [MINUTE, 0],
  [0, MINUTE],
] as const

describe.each([
  ['alike', 0, 0],
  ['with `from` a minute ahead', MINUTE, 0],
  ['with `to` a minute ahead', 0, MINUTE],
])('G3 on clocks %s', (_, fromMs, toMs) => {
  it('grants rise from old to moving to new, and all the way back', async () => {
    const { from, to, moving } = house(fromMs, toMs)
    const grants: number[] = []
    for (const store of [from, moving, from, moving, moving, to, moving, to, moving, from, moving]) {
      const ask = askFor('a')
      grants.push(await grantOf(store, ask))
      await store.release([ask])
    }
    expect(grants).toEqual([...new Set(grants)].toSorted((a, b) => a - b))
  })

  it('both stores remember the number, before and after a rotation', async () => {
    const { from, to, moving } = house(fromMs, toMs)
    const ask = askFor('a')
    const grant = await grantOf(moving, ask)
    expect([await held(from, 'a'), await held(to, 'a')]).toEqual([grant, grant])
    const [renewed] = (await moving.renew([{ ...ask, rotate: true }])) as RenewalAnswer[]
    const rotated = renewed?.renewed ? renewed.grant : 0
    expect(rotated).toBeGreaterThan(grant)
    expect([await held(from, 'a'), await held(to, 'a')]).toEqual([rotated, rotated])
    expect(await moving.renew([ask])).toEqual([{ renewed: true, grant: rotated }])
    expect(await grantOf(moving, ask)).toBe(rotated)
  })

  it('a holder that dies at any step leaves no number that a later one falls below', async () => {
    for (const step of ['acquire', 'renew'] as const) {
      for (const side of ['from', 'to'] as const) {
        const stores = house(fromMs, toMs)
        const before = askFor('a')
        const first = await grantOf(stores.moving, before)
        await stores.moving.release([before])
        const fault = broken(stores[side], step)
        const doomed = askFor('a', { leaseMs: 20 })
        const [answer] = await stores.moving.acquire([doomed])
        // `to` has nothing to raise where its clock is not behind.
        if (side === 'from' || step === 'acquire' || fromMs > toMs) expect(isFault(answer)).toBe(true)
        fault.mend()
        for (const name of ['from', 'to'] as const) await stores[name].evict('a')
        for (const name of ['from', 'moving', 'to'] as const) {
          const ask = askFor('a')
          expect(await grantOf(stores[name], ask)).toBeGreaterThan(first)
          await stores[name].release([ask])
        }
      }
    }
  })
})

describe('G5', () => {
  /** The next answer of `to` to an ask is kept back until it is let go. */
  function delayed(store: Store): { arrived: Promise<void>; letGo(): void } {
    const right = store.acquire.bind(store)
    let arrive = (): void => {}
    let letGo = (): void => {}
    const arrived = new Promise<void>((resolve) => (arrive = resolve))
    const gone = new Promise<void>((resolve) => (letGo = resolve))
    store.acquire = async (asks: readonly Ask[]) => {
      store.acquire = right
      const answers = await right(asks)
      arrive()
      await gone
      return answers
    }
    return { arrived, letGo }
  }

  /** The next ask does not reach `store` until it is let go. */
  function stuck(store: Store): { begun: Promise<void>; letGo(): void } {
    const right = store.acquire.bind(store)
    let begin = (): void => {}
    let letGo = (): void => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const gone = new Promise<void>((resolve) => (letGo = resolve))
    store.acquire = async (asks: readonly Ask[]) => {
      store.acquire = right
      begin()
      await gone
      return store.acquire(asks)
    }
    return { begun, letGo }
  }

  it('a late denial does not take from the same owner what it got since', async () => {
    for (const [fromMs, toMs] of AHEAD) {
      const { from, to, moving } = house(fromMs, toMs)
      const other = askFor('a')
      await grantOf(to, other)
      const { arrived, letGo } = delayed(to)
      const ask = askFor('a')
      const late = moving.acquire([ask])
      await arrived
      await to.release([other])
      const grant = await grantOf(moving, ask)
      letGo()
      expect(await late).toMatchObject([{ granted: false }])
      expect([await held(from, 'a'), await held(to, 'a')]).toEqual([grant, grant])
      expect(await moving.renew([ask])).toEqual([{ renewed: true, grant }])
    }
  })

  it.each([
    ['as it was granted', false],
    ['as it was raised to since', true],
  ])(
    'G1 an ask that reaches `from` late and not `to` leaves the same owner what it got since, %s',
    async (_, rotate) => {
      for (const [fromMs, toMs] of AHEAD) {
        const { from, to, moving } = house(fromMs, toMs)
        const { begun, letGo } = stuck(from)
        const ask = askFor('a')
        const late = moving.acquire([ask])
        await begun
        const grant = await grantOf(moving, ask)
        const [renewed] = (await moving.renew([{ ...ask, rotate }])) as RenewalAnswer[]
        const now = renewed?.renewed ? renewed.grant : 0
        expect(now > grant).toBe(rotate)
        const fault = broken(to, 'acquire')
        letGo()
        expect(isFault((await late)[0])).toBe(true)
        fault.mend()
        expect([await held(from, 'a'), await held(to, 'a')]).toEqual([now, now])
      }
    },
  )

  it('G1 an undoing that reaches `from` late leaves the same owner what it got since', async () => {
    for (const [fromMs, toMs] of AHEAD) {
      const { from, to, moving } = house(fromMs, toMs)
      const undo = from.evict.bind(from)
      let letGo = (): void => {}
      const gone = new Promise<void>((resolve) => (letGo = resolve))
      const undone: Promise<unknown>[] = []
      from.evict = (key, grant) => {
        undone.push(gone.then(() => undo(key, grant)))
        // It is not heard of any more.
        return Promise.reject(new Error('no answer'))
      }
      const ask = askFor('a')
      const fault = broken(to, 'acquire')
      expect(isFault((await moving.acquire([ask]))[0])).toBe(true)
      fault.mend()
      const grant = await grantOf(moving, ask)
      letGo()
      await Promise.all(undone)
      expect(undone).toHaveLength(1)
      expect([await held(from, 'a'), await held(to, 'a')]).toEqual([grant, grant])
    }
  })

  it('G5 what a late ask takes after all of its owner was released is taken back', async () => {
    const { from, to, moving } = house()
    const { begun, letGo } = stuck(from)
    const ask = askFor('a')
    const late = moving.acquire([ask])
    await begun
    await grantOf(moving, ask)
    await moving.release([ask])
    await grantOf(to, askFor('a'))
    letGo()
    expect(await late).toMatchObject([{ granted: false }])
    expect(await held(from, 'a')).toBeNull()
  })

  it('an owner that asks twice at once gets one number, whichever clock is ahead', async () => {
    for (const [fromMs, toMs] of AHEAD) {
      const { from, to, moving } = house(fromMs, toMs)
      for (const store of [from, to]) slowed(store)
      for (let round = 0; round < 50; round += 1) {
        const ask = askFor(`key-${round}`)
        const copies = Array.from({ length: 4 }, async () => {
          await turnsOfTheLoop(Math.random() * 20)
          return grantOf(moving, ask)
        })
        const grants = await Promise.all(copies)
        expect(new Set(grants).size).toBe(1)
      }
    }
  })

  it('a grant of `to` that comes after its owner gave up is a fault, and can be released', async () => {
    const { from, to, moving } = house()
    const { arrived, letGo } = delayed(to)
    const ask = askFor('a')
    const late = moving.acquire([ask])
    await arrived
    await from.release([ask])
    letGo()
    const [answer] = await late
    expect(isFault(answer)).toBe(true)
    await moving.release([ask])
    expect([await held(from, 'a'), await held(to, 'a')]).toEqual([null, null])
  })

  it.each(['from', 'to'] as const)(
    'an ask that `%s` did not hear of is granted when it is sent again',
    async (side) => {
      const { from, to, moving } = house(MINUTE, 0)
      const fault = broken({ from, to }[side], 'renew')
      const ask = askFor('a')
      expect(isFault((await moving.acquire([ask]))[0])).toBe(true)
      fault.mend()
      const grant = await grantOf(moving, ask)
      expect([await held(from, 'a'), await held(to, 'a')]).toEqual([grant, grant])
    },
  )

  it('a store that does not know raiseTo is a fault, never a grant', async () => {
    const { to, moving } = house(MINUTE, 0)
    const renew = to.renew.bind(to)
    to.renew = (renewals) => renew(renewals.map(({ key, owner, leaseMs }) => ({ key, owner, leaseMs })))
    const [answer] = await moving.acquire([askFor('a')])
    expect(answer).toMatchObject({ error: { message: expect.stringContaining('raiseTo') } })
  })
})
