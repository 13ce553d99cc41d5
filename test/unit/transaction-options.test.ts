import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { world } from './support/world.ts'

const manager = <T>(work: (tx: string) => Promise<T>): Promise<T> => work('tx')

const ignore = (): void => undefined

describe('transaction refuses at the call, before it locks', () => {
  const knex = Object.assign((): void => undefined, { raw: ignore, transaction: ignore })
  it.each([
    ['no database', undefined, /give a Pool or a Client of pg/],
    ['a URL', 'postgres://localhost', /give a Pool or a Client of pg/],
    ['Kysely or Drizzle itself', { transaction: ignore }, /work => db\.transaction\(\)\.execute\(work\)/],
    ['Knex itself, which is a function', knex, /work => db\.transaction\(work\)/],
    ['Prisma itself', { $transaction: ignore }, /work => prisma\.\$transaction\(work\)/],
  ])('%s', async (_what, db, message) => {
    const { locks, store } = world()
    const call = locks.transaction('key', db as never, () => 1)
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(message),
    })
    expect(store.calls).toEqual([])
  })

  it.each([
    ['an unknown option', { isolated: true }, /unknown option 'isolated'/],
    ['onLost: it always rolls back', { onLost: 'ignore' }, /unknown option 'onLost'/],
    ['another isolation', { isolation: 'chaos' }, /isolation: give 'read committed'/],
    ['isolation for a manager', { isolation: 'serializable' }, /where your transaction manager begins/],
    ['a fence that is none', { fence: {} }, /fence: give a guard/],
    ['fence: null', { fence: null }, /fence: give a guard/],
    ['a lease that is none', { lease: 'long' }, /lease/],
    ['no object', null, /options must be an object/],
  ])('%s', async (_what, options, message) => {
    const { locks, store } = world()
    const call = locks.transaction('key', manager, () => 1, options as never)
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(message),
    })
    expect(store.calls).toEqual([])
  })

  it('a bad key, and no function', async () => {
    const { locks, store } = world()
    await expect(locks.transaction('', manager, () => 1)).rejects.toMatchObject({ code: 'INVALID_LOCK_KEY' })
    const call = locks.transaction('key', manager, undefined as never)
    await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(store.calls).toEqual([])
  })

  it('the options before the function, as using takes them', async () => {
    const { locks, store } = world()
    const call = locks.transaction('key', manager, { wait: 0 } as never, (() => 1) as never)
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/the function comes third .*transaction\(key, db, fn, options\)/),
    })
    expect(store.calls).toEqual([])
  })

  it('a client of pg that was never connected', async () => {
    const { locks, store } = world()
    const call = locks.transaction('key', new Client(), () => 1)
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/the client is not connected; await its connect\(\) first/),
    })
    expect(store.calls).toEqual([])
  })

  it('a client that was closed', async () => {
    const { locks } = world()
    await locks.close()
    await expect(locks.transaction('key', manager, () => 1)).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

describe('the options of the lock', () => {
  it('are those of using', async () => {
    const { locks, other } = world()
    const holder = other()
    const lease = await holder.acquire('key')
    const call = locks.transaction('key', manager, () => 1, { wait: 0 })
    await expect(call).rejects.toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    const signal = AbortSignal.abort()
    await expect(locks.transaction('key', manager, () => 1, { signal })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    })
    await lease.release()
    const options = { context: 'why', lease: '1m' } as const
    const held = await locks.transaction('key', manager, () => holder.inspect('key'), options)
    expect(held).toMatchObject({ holder: { context: 'why' }, leaseMs: 60_000 })
  })
})
