import { setTimeout } from 'node:timers/promises'
import { ConflictException, Inject, Injectable } from '@nestjs/common'
import { currentLease } from '../../src/index.ts'
import { Locked } from '../../src/nestjs/index.ts'
import { Stock } from './stock.ts'

export interface Order {
  readonly sku: string
  readonly quantity: number
  /** How long the bank takes. */
  readonly paymentMs: number
}

@Injectable()
export class OrdersService {
  constructor(@Inject(Stock) private readonly stock: Stock) {}

  /** Reads, waits and writes: without the lock, two at a time would sell the same piece. */
  @Locked({ key: 'stock:{0.sku}', wait: '15s', context: (order: Order) => order })
  async place({ sku, quantity, paymentMs }: Order): Promise<{ left: number }> {
    const left = this.stock.left(sku) - quantity
    if (left < 0) throw new ConflictException('sold out')
    await setTimeout(paymentMs)
    this.stock.set(sku, left, currentLease()!)
    return { left }
  }

  /** Another key function, the same key; and no patience. */
  @Locked({ key: (sku) => `stock:${sku}`, wait: 0 })
  async restock(sku: string, quantity: number): Promise<{ left: number }> {
    const left = this.stock.left(sku) + quantity
    this.stock.set(sku, left, currentLease()!)
    return { left }
  }

  left(sku: string): { left: number } {
    return { left: this.stock.left(sku) }
  }
}
