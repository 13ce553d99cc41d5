import { Injectable, SetMetadata, type Type } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import type { LockError } from '../../src/errors.ts'
import { Locked, Locks, LocksModule } from '../../src/nestjs/index.ts'
import { currentLease } from '../../src/section.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { decorate, moduleOf, start } from './support/nest.ts'
import { gate } from './support/world.ts'

interface Order {
  readonly sku: string
}

/** A class as it is written: each with decorators of its own. */
function ordersClass() {
  return class Orders {
    readonly log: string[] = []
    readonly payment = gate()
    async place({ sku }: Order): Promise<string | null> {
      this.log.push(`begin ${sku}`)
      await this.payment.promise
      this.log.push(`end ${sku}`)
      return currentLease()?.key ?? null
    }
  }
}

function shop(...providers: Type[]): Type {
  return moduleOf({ imports: [LocksModule.forRoot({ store: memoryStore() })], providers })
}

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
  } catch (error) {
    return `${(error as LockError).code}: ${(error as LockError).message}`
  }
  return undefined
}

const STOCK = { key: 'stock:{0.sku}' } as const

describe('@Locked', () => {
  it('runs the method under the lock, with the lease at hand', async () => {
    const Orders = ordersClass()
    decorate(Orders.prototype, 'place', Locked(STOCK))
    Injectable()(Orders)
    const app = await start(shop(Orders))
    const orders = app.get(Orders)
    const placed = [orders.place({ sku: 'a' }), orders.place({ sku: 'a' }), orders.place({ sku: 'b' })]
    await expect.poll(() => orders.log.length).toBe(2)
    expect(orders.log).toEqual(['begin a', 'begin b'])
    orders.payment.open()
    expect(await Promise.all(placed)).toEqual(['stock:a', 'stock:a', 'stock:b'])
    expect(orders.log.filter((line) => line.endsWith('a'))).toEqual(['begin a', 'end a', 'begin a', 'end a'])
    expect((await app.get(Locks).list()).locks).toEqual([])
  })

  it('takes all that `locked` takes', async () => {
    const Orders = ordersClass()
    const key = ({ sku }: Order): string => `stock:${sku}`
    decorate(Orders.prototype, 'place', Locked({ key, wait: 0, onFail: 'null', on: ['contention'] }))
    const app = await start(shop(Orders))
    await using lease = await app.get(Locks).acquire('stock:a')
    expect(lease.held).toBe(true)
    expect(await app.get(Orders).place({ sku: 'a' })).toBeNull()
  })

  it('finds the client of the application that made the instance', async () => {
    const Orders = ordersClass()
    decorate(Orders.prototype, 'place', Locked({ ...STOCK, wait: 0 }))
    const [one, two] = [await start(shop(Orders)), await start(shop(Orders))]
    const first = one.get(Orders).place({ sku: 'a' })
    expect(one.get(Locks).stats().held + two.get(Locks).stats().held).toBe(0)
    await expect.poll(() => one.get(Locks).stats().held).toBe(1)
    expect(two.get(Locks).stats().held).toBe(0)
    one.get(Orders).payment.open()
    await first
    await one.close()
    two.get(Orders).payment.open()
    expect(await two.get(Orders).place({ sku: 'a' })).toBe('stock:a')
    await expect(one.get(Orders).place({ sku: 'a' })).rejects.toMatchObject({ code: 'CLOSED' })
  })

  it('works in a class that inherits the method, and injects of its own', async () => {
    const Orders = ordersClass()
    decorate(Orders.prototype, 'place', Locked(STOCK))
    class Returns extends Orders {
      async take({ sku }: Order): Promise<string | undefined> {
        return `${currentLease()?.key} ${sku}`
      }
    }
    decorate(Returns.prototype, 'take', Locked({ key: 'returns' }))
    const app = await start(shop(Returns))
    const returns = app.get(Returns)
    returns.payment.open()
    expect(await returns.place({ sku: 'a' })).toBe('stock:a')
    expect(await returns.take({ sku: 'a' })).toBe('returns a')
  })

  it.each(['above', 'below'])('keeps what Nest has noted on the method, written %s it', (where) => {
    const Orders = ordersClass()
    const others = [SetMetadata('path', '/orders'), SetMetadata('role', 'clerk')]
    const locked = Locked(STOCK)
    decorate(Orders.prototype, 'place', ...(where === 'above' ? [...others, locked] : [locked, ...others]))
    expect(Reflect.getMetadata('path', Orders.prototype.place)).toBe('/orders')
    expect(Reflect.getMetadata('role', Orders.prototype.place)).toBe('clerk')
    expect(Orders.prototype.place.name).toBe('place')
  })

  it('does not start without LocksModule', async () => {
    const Orders = ordersClass()
    decorate(Orders.prototype, 'place', Locked(STOCK))
    await expect(start(moduleOf({ providers: [Orders] }))).rejects.toThrow(
      /dependencies of the Orders.*Locks/s,
    )
  })

  it('tells those who made the object themselves what to do', async () => {
    const Orders = ordersClass()
    decorate(Orders.prototype, 'place', Locked(STOCK))
    const byHand = new Orders().place({ sku: 'a' })
    await expect(byHand).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(byHand).rejects.toThrow(/Nest has not made this object/)
    const { place } = Orders.prototype
    await expect(place.call(undefined as never, { sku: 'a' })).rejects.toThrow(/Nest has not made/)
  })

  it('is refused where it cannot work, when it is declared', () => {
    class Odd {
      static async shared(): Promise<void> {}
      get price(): number {
        return 1
      }
      async *pages(): AsyncGenerator<number> {
        yield 1
      }
    }
    const locked = Locked({ key: 'k' }) as (...decorated: unknown[]) => unknown
    expect(codeOf(() => decorate(Odd, 'shared', locked))).toMatch(
      /^INVALID_OPTION: @Locked: "shared" is static/,
    )
    expect(codeOf(() => decorate(Odd.prototype, 'price', locked))).toMatch(/^INVALID_OPTION: .*accessor/)
    expect(codeOf(() => decorate(Odd.prototype, 'pages', locked))).toMatch(/^INVALID_OPTION: .*generator/)
    expect(codeOf(() => locked(Odd))).toMatch(/^INVALID_OPTION: .*class/)
    expect(codeOf(() => locked(() => {}, { kind: 'method', name: 'm' }))).toMatch(/experimentalDecorators/)
    expect(codeOf(() => Locked({ key: 'stock:{0' }))).toMatch(/^INVALID_OPTION/)
    expect(codeOf(() => Locked({ key: 'k', wate: 0 } as never))).toMatch(/^INVALID_OPTION/)
  })
})
