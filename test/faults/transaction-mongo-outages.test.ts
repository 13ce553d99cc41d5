import { describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import {
  drivers,
  failing,
  insert,
  lost,
  memoryLocks,
  openShop,
  shop,
  warm,
} from '../support/mongo-transaction-stage.ts'
import { atEnd, failureOf, failureWithin, proxyTo, until } from '../support/stage.ts'

const { server, stored } = await openShop()

describe.each(drivers)('a transaction on MongoDB, with $name', ({ connect }) => {
  it('finds out that it is committed if only the answer to COMMIT was lost', async () => {
    const { proxy, url } = await proxyTo(`mongodb://127.0.0.1:${server.port}/?directConnection=true`)
    const client = connect(url, { socketTimeoutMS: 700 })
    let runs = 0
    const call = memoryLocks().transaction('lost reply', shop(client), async (session) => {
      runs += 1
      await insert(client, session, runs)
      proxy.dropReplies()
    })
    await until('the commit', async () => (await stored()).length > 0)
    proxy.thaw()
    await call
    expect(runs).toBe(1)
    expect(await stored()).toEqual([1])
  })

  it('says that the outcome is unknown if COMMIT is never answered, before the lease is over', async () => {
    const { proxy, url } = await proxyTo(`mongodb://127.0.0.1:${server.port}/?directConnection=true`)
    const client = connect(url, { serverSelectionTimeoutMS: 1000 })
    const locks = memoryLocks()
    await warm(client)
    const call = locks.transaction(
      'unknown',
      shop(client),
      async (session) => {
        await insert(client, session, 1)
        proxy.dropReplies()
      },
      { lease: '2s' },
    )
    expect(await failureWithin(2500, call)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcomeUnknown: true,
      key: 'unknown',
    })
    expect(await stored()).toEqual([1])
    expect(await locks.inspect('unknown')).toBeNull()
  })

  it('stops trying to commit when the lease does not last longer, and is not in the way of the next holder', async () => {
    const client = connect(server.url)
    await warm(client)
    const call = memoryLocks().transaction(
      'no end',
      shop(client),
      async (session) => {
        await insert(client, session, 1)
        await failing(server, { failCommands: ['commitTransaction'], errorCode: 10107 })
      },
      { lease: '1500ms' },
    )
    expect(await failureOf(call)).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeUnknown: true })
    await (await failing(server, { failCommands: [] })).end()
    const other = connect(server.url)
    const start = performance.now()
    await memoryLocks().transaction('no end', shop(other), (session) => insert(other, session, 2))
    expect(performance.now() - start).toBeLessThan(5000)
    expect(await stored()).toEqual([2])
  })

  describe('on a server that stands still', () => {
    it('before it begins: the function is not called, and the caller is told before the lease is over', async () => {
      const client = connect(server.url)
      await fence(shop(client)).open()
      await warm(client)
      await server.pause()
      atEnd(() => server.resume())
      let called = false
      const call = memoryLocks().transaction('still', shop(client), () => void (called = true), {
        lease: '2s',
      })
      expect(await failureWithin(2000, call)).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        outcomeUnknown: false,
        message: expect.stringContaining('could not begin'),
      })
      expect(called).toBe(false)
      server.resume()
      // What the server was asked, it does now. None of it stays open and in the way.
      const other = connect(server.url)
      const resumed = performance.now()
      await memoryLocks().transaction('still', shop(other), (session) => insert(other, session, 2))
      expect(performance.now() - resumed).toBeLessThan(5000)
      expect(await stored()).toEqual([2])
    })

    it('at the end of a function that throws: its error comes before the lease is over', async () => {
      const client = connect(server.url)
      await warm(client)
      atEnd(() => server.resume())
      const own = new Error('of the function')
      let thrown = 0
      const call = memoryLocks().transaction(
        'still',
        shop(client),
        async (session) => {
          await insert(client, session, 1)
          await server.pause()
          thrown = performance.now()
          throw own
        },
        { lease: '2s' },
      )
      expect(await failureOf(call)).toBe(own)
      expect(performance.now() - thrown).toBeLessThan(2000)
      server.resume()
      expect(await stored()).toEqual([])
    })

    it('at COMMIT: the outcome is unknown, and the next holder gets through once it goes on', async () => {
      const client = connect(server.url)
      const locks = memoryLocks()
      await warm(client)
      atEnd(() => server.resume())
      const call = locks.transaction(
        'still',
        shop(client),
        async (session) => {
          await insert(client, session, 1)
          await server.pause()
        },
        { lease: '2s' },
      )
      expect(await failureOf(call)).toMatchObject({ code: 'STORE_UNAVAILABLE', outcomeUnknown: true })
      server.resume()
      await locks.transaction('still', shop(client), (session) => insert(client, session, 2))
      expect(await stored()).toContain(2)
    })
  })

  it('stores nothing if the lease is lost while the function runs', async () => {
    const client = connect(server.url)
    await warm(client)
    const call = memoryLocks().transaction(
      'lost',
      shop(client),
      async (session, lease) => {
        await insert(client, session, 1)
        await lost(lease)
        await insert(client, session, 2)
      },
      { lease: '900ms', renew: false },
    )
    expect(await failureOf(call)).toMatchObject({
      code: 'LOCK_LOST',
      message: expect.stringContaining('rolled back'),
    })
    expect(await stored()).toEqual([])
    expect(await fence(shop(client)).highest('lost')).toBeNull()
  })
})
