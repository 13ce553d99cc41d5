import { Inject, Injectable, Scope, type Type } from '@nestjs/common'
import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { InjectLocks, Locks, LocksModule, type LocksModuleOptions } from '../../src/nestjs/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { moduleOf, start } from './support/nest.ts'
import { TrialStore } from './support/trial-store.ts'
import { VirtualTime } from './support/virtual-time.ts'

/** What the compiler emits for a constructor, with `emitDecoratorMetadata`. */
function typed(target: Type, ...types: unknown[]): void {
  Reflect.defineMetadata('design:paramtypes', types, target)
}

describe('LocksModule', () => {
  it('injects one client by its class, in every module', async () => {
    class Orders {
      readonly locks: Locks
      constructor(locks: Locks) {
        this.locks = locks
      }
    }
    Injectable()(Orders)
    typed(Orders, Locks)
    class Bills {
      readonly locks!: Locks
      readonly given: Locks
      constructor(given: Locks) {
        this.given = given
      }
    }
    Injectable()(Bills)
    InjectLocks()(Bills, undefined, 0)
    InjectLocks()(Bills.prototype, 'locks')
    const feature = moduleOf({ providers: [Orders, Bills] })
    const app = await start(
      moduleOf({ imports: [feature, LocksModule.forRoot({ store: memoryStore(), service: 'shop' })] }),
    )
    const locks = app.get(Locks)
    expect([app.get(Orders).locks, app.get(Bills).locks, app.get(Bills).given]).toEqual([locks, locks, locks])
    await using lease = await locks.acquire('k')
    expect(await locks.inspect(lease.key)).toMatchObject({ holder: { service: 'shop' } })
  })

  it('takes options from a factory, with what it injects', async () => {
    const config = moduleOf({
      providers: [{ provide: 'CONFIG', useFactory: async () => ({ service: 'shop' }) }],
      exports: ['CONFIG'],
    })
    const locks = LocksModule.forRootAsync({
      imports: [config],
      inject: ['CONFIG'],
      useFactory: async ({ service }: { service: string }): Promise<LocksModuleOptions> => ({
        store: 'memory:',
        service,
      }),
    })
    const app = await start(moduleOf({ imports: [locks] }))
    await using lease = await app.get(Locks).acquire('k')
    expect(await app.get(Locks).inspect(lease.key)).toMatchObject({ holder: { service: 'shop' } })
  })

  it('takes a client from a factory, and closes it', async () => {
    const client = createLocks(memoryStore())
    const app = await start(
      moduleOf({ imports: [LocksModule.forRootAsync({ useFactory: () => Promise.resolve(client) })] }),
    )
    expect(app.get(Locks)).toBe(client)
    await app.close()
    await expect(client.acquire('k')).rejects.toMatchObject({ code: 'CLOSED' })
  })

  it('gives each application that is made of it a client of its own', async () => {
    const module = moduleOf({ imports: [LocksModule.forRoot({ store: memoryStore() })] })
    const [one, two] = [await start(module), await start(module)]
    expect(one.get(Locks)).not.toBe(two.get(Locks))
    await one.close()
    await expect(one.get(Locks).acquire('k')).rejects.toMatchObject({ code: 'CLOSED' })
    await using lease = await two.get(Locks).acquire('k')
    expect(lease.held).toBe(true)
  })

  it('closes the client last: other modules may lock until they have shut down', async () => {
    const seen: string[] = []
    class Shelf {
      readonly locks!: Locks
      async onModuleDestroy(): Promise<void> {
        await this.locks.using('shelf', () => seen.push('destroy'))
      }
      async onApplicationShutdown(): Promise<void> {
        await this.locks.using('shelf', () => seen.push('shutdown'))
      }
    }
    Injectable()(Shelf)
    InjectLocks()(Shelf.prototype, 'locks')
    const app = await start(
      moduleOf({
        imports: [LocksModule.forRoot({ store: memoryStore() }), moduleOf({ providers: [Shelf] })],
      }),
    )
    const locks = app.get(Locks)
    await app.close()
    expect(seen).toEqual(['destroy', 'shutdown'])
    await expect(locks.acquire('k')).rejects.toMatchObject({ code: 'CLOSED' })
  })

  it('leaves nothing held and no timer behind', async () => {
    const time = new VirtualTime()
    const store = new TrialStore(time)
    const app = await start(moduleOf({ imports: [LocksModule.forRoot({ store, environment: time })] }))
    await app.get(Locks).acquire('k')
    expect(await store.heldKeys()).toEqual(['k'])
    await app.close()
    expect(await store.heldKeys()).toEqual([])
    expect(time.timers).toBe(0)
  })

  it('sends warnings to the logger of Nest, unless it is given one', async () => {
    const time = new VirtualTime()
    const store = new TrialStore(time)
    store.mood.acquire = 'fail'
    const [nest, own] = [[] as string[], [] as string[]]
    const options = { store, environment: time }
    const app = await start(moduleOf({ imports: [LocksModule.forRoot(options)] }), (line) => nest.push(line))
    await app
      .get(Locks)
      .tryAcquire('k')
      .catch(() => null)
    expect(nest).toHaveLength(1)
    const logger = { warn: (line: string) => own.push(line) }
    const other = await start(moduleOf({ imports: [LocksModule.forRoot({ ...options, logger })] }))
    await other
      .get(Locks)
      .tryAcquire('k')
      .catch(() => null)
    expect([nest.length, own.length]).toEqual([1, 1])
  })

  it('refuses at once what is no set of options', () => {
    const wrong = [undefined, null, 'memory:', [], 7] as never[]
    for (const options of wrong) {
      expect(() => LocksModule.forRoot(options)).toThrow(/LocksModule: forRoot: give \{ store/)
      expect(() => LocksModule.forRootAsync(options)).toThrow(/forRootAsync: give \{ imports/)
    }
    expect(() => LocksModule.forRootAsync({} as never)).toThrow(/useFactory: give a function/)
  })

  it.each([
    ['no store', {}],
    ['a misspelt option', { store: 'memory:', leese: '5s' }],
    ['a wrong value', { store: 'memory:', lease: 'soon' }],
    ['an unknown store', { store: 'oracle:' }],
    ['nothing', undefined],
  ])('does not start with %s', async (_what, options) => {
    const module = moduleOf({ imports: [LocksModule.forRootAsync({ useFactory: () => options as never })] })
    await expect(start(module)).rejects.toMatchObject({ name: 'LockError', code: 'INVALID_OPTION' })
  })

  it('serves classes of any scope', async () => {
    class PerCall {
      readonly locks: Locks
      constructor(locks: Locks) {
        this.locks = locks
      }
    }
    Injectable({ scope: Scope.TRANSIENT })(PerCall)
    Inject(Locks)(PerCall, undefined, 0)
    const app = await start(
      moduleOf({ imports: [LocksModule.forRoot({ store: 'memory:' })], providers: [PerCall] }),
    )
    const [one, two] = [await app.resolve(PerCall), await app.resolve(PerCall)]
    expect(one).not.toBe(two)
    expect(one.locks).toBe(two.locks)
  })
})
