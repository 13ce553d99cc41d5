import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { watchLocks } from '../../src/alerts/index.ts'
import { documentFence, redisFence } from '../../src/fence/index.ts'
import { createLocks, memoryStore } from '../../src/index.ts'
import { listenLocks, lockServer } from '../../src/server/index.ts'
import { movingStore } from '../../src/stores/moving/index.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { world } from './support/world.ts'

const INVALID = { name: 'LockError', code: 'INVALID_OPTION' }
const locks = createLocks(memoryStore(), { logger: null })
const runner = { describe: () => {}, it: () => {} }
const createStore = memoryStore

describe('options of what stands around core are refused at the call', () => {
  it.each([
    ['lockServer', { environment: {} }, () => lockServer(locks, { environment: {} as never })],
    ['lockServer', { environment: null }, () => lockServer(locks, { environment: null as never })],
    ['lockServer', null, () => lockServer(locks, null as never)],
    ['watchLocks', { environment: {} }, () => watchLocks(locks, { environment: {} as never })],
    ['watchLocks', { environment: null }, () => watchLocks(locks, { environment: null as never })],
    ['listenLocks', null, () => listenLocks(locks, null as never)],
    ['movingStore', undefined, () => movingStore(undefined as never)],
    ['movingStore', 'a client', () => movingStore({ from: locks as never, to: memoryStore() })],
    ['movingStore', 'unknown', () => movingStore({ from: memoryStore(), to: memoryStore(), a: 1 } as never)],
    ['storeConformance', 'no runner', () => storeConformance(undefined as never, { name: 'x', createStore })],
    ['storeConformance', 'no options', () => storeConformance(runner, undefined as never)],
    ['storeConformance', 'no store', () => storeConformance(runner, { name: 'x' } as never)],
    [
      'storeConformance',
      'unknown',
      () => storeConformance(runner, { name: 'x', createStore, a: 1 } as never),
    ],
  ])('%s: %o', async (_, __, call) => {
    await expect(async () => call()).rejects.toMatchObject(INVALID)
  })

  it('movingStore says that it was given a client', () => {
    expect(() => movingStore({ from: memoryStore(), to: locks as never })).toThrow(
      /^movingStore: to: give a store .* this is a client that createLocks has made/,
    )
  })

  it('a guard of Redis sends nothing for keys or arguments that are not lists of texts', async () => {
    const sent: unknown[] = []
    const guard = redisFence({
      eval: async (...call: unknown[]) => sent.push(call),
      evalsha: () => {},
    } as never)
    for (const input of [
      null,
      { keys: 'stock:7' },
      { keyz: ['a'] },
      { args: [undefined] },
      { args: [{}] },
      { args: [7] },
    ])
      await expect(guard.run('r', 1n, 'return 1', input as never)).rejects.toMatchObject(INVALID)
    expect(sent).toEqual([])
  })

  it('a guard of documents refuses options that are none', async () => {
    const collection = { collectionName: 'c', updateOne: () => {}, findOne: () => {} }
    const guard = documentFence(collection as never)
    for (const options of [null, { upsrt: true }])
      await expect(
        guard.update({} as never, { $set: {} } as never, 1n, options as never),
      ).rejects.toMatchObject(INVALID)
  })
})

describe('what a person reads', () => {
  it('a lease is printed as a lease', async () => {
    const { locks: client } = world()
    const lease = await client.acquire('a')
    expect(inspect(lease)).toMatch(/^Lease \{\s+key: 'a',\s+token: '\d+',\s+held: true,/)
    const both = await client.acquire(['b', 'c'])
    expect(inspect(both)).toMatch(/^Lease \{\s+keys: \[ 'b', 'c' \],/)
    expect(inspect({ lease }, { depth: 0 })).not.toContain('token')
    // What mocks and containers make of one.
    for (const made of [Object.create(lease), new Proxy(lease, {})]) expect(() => inspect(made)).not.toThrow()
    await client.close()
  })

  it('a line of the log is one line, whatever a driver says', async () => {
    const lines: string[] = []
    const store = memoryStore()
    store.acquire = () => Promise.reject(new Error('no\nsql: begin\n\n  at all'))
    const client = createLocks(store, {
      logger: { info: (line) => lines.push(line), warn: (line) => lines.push(line) },
    })
    client.report((await client.acquire('a', { wait: 0 }).catch((error: unknown) => error)) as never)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => line.includes('\n'))).toEqual([])
    await client.close()
  })
})
