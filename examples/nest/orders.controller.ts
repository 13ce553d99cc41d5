import { Body, Controller, Get, Inject, Param, Post, Put } from '@nestjs/common'
import { type Order, OrdersService } from './orders.service.ts'

@Controller()
export class OrdersController {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @Post('orders')
  place(@Body() order: Order): Promise<{ left: number }> {
    return this.orders.place(order)
  }

  @Get('stock/:sku')
  left(@Param('sku') sku: string): { left: number } {
    return this.orders.left(sku)
  }

  @Put('stock/:sku')
  restock(@Param('sku') sku: string, @Body() { quantity }: { quantity: number }): Promise<{ left: number }> {
    return this.orders.restock(sku, quantity)
  }
}
