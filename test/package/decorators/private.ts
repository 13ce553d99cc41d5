import { locked } from '../../../src/decorators.ts'
import { createLocks, currentLease, memoryStore } from '../../../src/index.ts'

/** Only a standard decorator may stand on a private method. */
const locks = createLocks(memoryStore())

class Stock {
  @locked(locks, { key: (part) => `private:${part}` })
  async #repair(_part: string): Promise<unknown> {
    return currentLease()?.key
  }

  @locked(locks, { key: 'static:{0}' })
  static async #rebuild(_part: string): Promise<unknown> {
    return currentLease()?.key
  }

  run(): Promise<unknown[]> {
    return Promise.all([this.#repair('x'), Stock.#rebuild('y')])
  }
}

console.log(JSON.stringify(await new Stock().run()))
await locks.close()
