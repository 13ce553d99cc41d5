import { locked } from '../../../src/decorators.ts'
import { createLocks, currentLease, type LockError, type Locks, memoryStore } from '../../../src/index.ts'

/** Compiled and run in both modes: it prints what the methods gave, and what was refused. */
const locks = createLocks(memoryStore(), { wait: 0 })
const blocked = await createLocksThatAreBusy()

/** A standard decorator gets two arguments, an experimental one three. */
let mode = 'none'
const watched = (...decorated: readonly unknown[]): void => {
  mode = decorated.length === 2 ? 'standard' : 'experimental'
}

class Stock {
  static region = 'eu'
  tenant = 't1'
  locks: Locks = locks

  @locked(locks, {
    key: (sku, count) => {
      // Without the types of the method these would be unknown.
      const [text, number]: [string, number] = [sku, count]
      return number > 0 ? `stock:${text}` : 'none'
    },
  })
  async take(sku: string, count: number): Promise<unknown[]> {
    return [this.tenant, sku, count, currentLease()?.key]
  }

  @watched
  @locked(locks, { key: 'stock:{self.tenant}:{0.sku}' })
  async count(_item: { sku: string }): Promise<unknown> {
    return currentLease()?.key
  }

  @locked(locks, {
    key(sku) {
      return [sku, this.tenant]
    },
  })
  async both(_sku: string, _count?: number): Promise<unknown> {
    return currentLease()?.keys
  }

  @locked((self) => self.locks, { key: 'found:{0}' })
  async found<T>(value: T): Promise<[T, unknown]> {
    return [value, currentLease()?.key]
  }

  @locked(locks, { key: 'static:{self.region}' })
  static async rebuild(): Promise<unknown> {
    return currentLease()?.key
  }

  @locked(blocked, { key: 'k', onFail: 'null' })
  async orNull(): Promise<number | null> {
    return 1
  }

  @locked(blocked, {
    key: 'k',
    onFail: {
      fallback(error, count) {
        return `${this.tenant} ${error.code} ${count.toFixed(1)}`
      },
    },
  })
  async orElse(_count: number): Promise<string> {
    return 'ran'
  }

  @locked(blocked, { key: 'k', onFail: { retry: 1, backoff: 1 }, on: ['contention'] })
  async again(): Promise<void> {}

  // @ts-expect-error the method does not say that it may give null
  @locked(locks, { key: 'k', onFail: 'null' })
  async neverNull(): Promise<number> {
    return 1
  }

  // @ts-expect-error the fallback gives something else than the method
  @locked(locks, { key: 'k', onFail: { fallback: () => 'text' } })
  async neverText(): Promise<number> {
    return 1
  }

  // @ts-expect-error a locked method gives a promise
  @locked(locks, { key: 'k' })
  now(): number {
    return 1
  }

  // @ts-expect-error the key function takes a number, the method a string
  @locked(locks, { key: (id: number) => String(id) })
  async other(_id: string): Promise<void> {}
}

class Derived extends Stock {
  @locked(locks, { key: 'stock:{0}' })
  override async take(sku: string, count: number): Promise<unknown[]> {
    return ['derived', ...(await super.take(sku, count))]
  }
}

/** Kept for several methods; the compiler cannot know their types then. */
const alone = locked(locks, { key: 'alone' })

class Alone {
  @alone
  async one(_id: number): Promise<unknown> {
    return currentLease()?.key
  }

  @alone
  static async two(): Promise<unknown> {
    return currentLease()?.key
  }
}

/** Declared when called. */
const refused: readonly (() => unknown)[] = [
  () => {
    class Refused {
      // @ts-expect-error not a method that gives a promise
      @locked(locks, { key: 'k' })
      *many(): Generator {}
    }
    return Refused
  },
  () => {
    class Refused {
      // @ts-expect-error not a method that gives a promise
      @locked(() => locks, { key: 'k' })
      async *many(): AsyncGenerator {}
    }
    return Refused
  },
  () => {
    class Refused {
      // @ts-expect-error not a method
      @locked(locks, { key: 'k' })
      get size(): Promise<number> {
        return Promise.resolve(1)
      }
    }
    return Refused
  },
  () => {
    class Refused {
      // @ts-expect-error not a method
      @locked(locks, { key: 'k' })
      take = async (): Promise<void> => {}
    }
    return Refused
  },
  () => {
    // @ts-expect-error not a method
    @locked(locks, { key: 'k' })
    class Refused {
      size = 1
    }
    return Refused
  },
  () => {
    class Refused {
      @locked(locks, { key: '{sku}' })
      async take(_sku: string): Promise<void> {}
    }
    return Refused
  },
]

const stock = new Stock()
const results = {
  mode,
  name: [stock.take.name, stock.take.length, Object.hasOwn(Stock.prototype, 'take')],
  take: await stock.take('a', 2),
  count: await stock.count({ sku: 'b' }),
  both: await stock.both('c'),
  found: await stock.found(7),
  rebuild: await Stock.rebuild(),
  orNull: await stock.orNull(),
  orElse: await stock.orElse(3),
  again: await stock.again().catch((error: LockError) => error.code),
  derived: await new Derived().take('a', 2),
  alone: [await new Alone().one(1), await Alone.two()],
  refused: refused.map(refusal),
}
await locks.close()
await blocked.close()
console.log(JSON.stringify(results))

function refusal(declare: () => unknown): string {
  try {
    declare()
    return 'accepted'
  } catch (error) {
    return `${(error as LockError).code} ${(error as LockError).message}`
  }
}

/** Another client has the key `k`. */
async function createLocksThatAreBusy(): Promise<Locks> {
  const store = memoryStore()
  await createLocks(store).acquire('k', { renew: false, lease: '1h' })
  return createLocks(store, { wait: 0 })
}
