// An application of Nest around the packed package: the client is injected, a method is locked, all is closed at the end.
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Locked, Locks, LocksModule } from 'holdfast/nestjs'
import { memoryStore } from 'holdfast/memory'

class Stock {
  inside = 0
  most = 0
  async take() {
    this.inside += 1
    this.most = Math.max(this.most, this.inside)
    await new Promise((resolve) => setTimeout(resolve, 5))
    this.inside -= 1
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Stock.prototype, 'take')
Object.defineProperty(Stock.prototype, 'take', Locked({ key: 'stock' })(Stock.prototype, 'take', descriptor))

class App {}
Module({
  imports: [LocksModule.forRoot({ store: memoryStore(), service: 'shop' })],
  providers: [Stock],
})(App)

const app = await NestFactory.createApplicationContext(App, { logger: false })
const stock = app.get(Stock)
await Promise.all([stock.take(), stock.take(), stock.take()])
const locks = app.get(Locks)
await app.close()
const code = await locks.acquire('stock').catch((error) => error.code)
console.log(JSON.stringify({ most: stock.most, code }))
