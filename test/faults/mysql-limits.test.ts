import { expect, it } from 'vitest'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { observe, poolOn, proxyTo, transactionDrivers } from '../support/mysql-stage.ts'
import { memoryLocks, until } from '../support/transaction-stage.ts'

const url = await freshMariadbDatabase()
const look = observe(url)
await look('create table t (n int not null)')

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

it('a pause that the server ends is told with the limit that it has, in whole seconds: 1000 ms of 1500', async () => {
  const calls = transactionDrivers.map(async (driver) => {
    const { transaction } = await driver.open(url)
    const call = transaction(
      memoryLocks(),
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        await pause(2200)
        await tx.run('insert into t values (2)')
      },
      { lease: 4500, fence: false },
    )
    await expect(call).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/lost before COMMIT.*a pause between two statements may take 1000 ms/),
    })
  })
  await Promise.all(calls)
  expect(await look('select n from t')).toEqual([])
})

it('the limits count from when a connection came: ROLLBACK may take a third of what was left of the lease then', async () => {
  const network = await proxyTo(url)
  const pool = poolOn(network.url, { connectionLimit: 1 })
  const locks = memoryLocks()
  let inside = false
  const first = locks.transaction(
    'other',
    pool,
    () => {
      inside = true
      return pause(2500)
    },
    { fence: false },
  )
  await until('the other to be inside', () => inside)
  const own = new Error('own')
  let late = false
  const call = locks.transaction(
    'key',
    pool,
    () => {
      network.proxy.freeze()
      // A timer beside that of the limit: a slow machine runs both late, but in order.
      setTimeout(() => (late = true), 5300).unref()
      throw own
    },
    { lease: 18_000, renew: false, fence: false },
  )
  await expect(call).rejects.toBe(own)
  // About 14.6 s were left, of which a third is 4.9 s. Of all the lease it would be 5.7 s.
  expect(late).toBe(false)
  await first
})

it('COMMIT is not sent while something runs that was not awaited: a lease that is lost, or was too short, is no unknown outcome', async () => {
  const own = new Error('own')
  const calls = transactionDrivers.flatMap((driver, n) => [
    async () => {
      const { transaction } = await driver.open(url)
      const locks = memoryLocks()
      const call = locks.using('key', { lease: 9000 }, (outer) =>
        transaction(
          locks,
          'key',
          async (tx) => {
            await tx.run(`insert into t values (${10 + n})`)
            tx.run('select sleep(1)').catch(() => undefined)
            void pause(300).then(async () => {
              await locks.forceRelease('key')
              await outer.extend().catch(() => undefined)
            })
          },
          { fence: false },
        ),
      )
      await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      // The connection is as good as before.
      const other = transaction(memoryLocks(), 'key', () => Promise.reject(own), { fence: false })
      await expect(other).rejects.toBe(own)
    },
    async () => {
      const { transaction, run } = await driver.open(url)
      // To connect is no part of the lease, which is short.
      await run('select 1')
      const call = transaction(
        memoryLocks(),
        'key',
        async (tx) => {
          await tx.run(`insert into t values (${20 + n})`)
          // Each of them keeps to the limit of a statement, also on a busy machine.
          for (let m = 0; m < 8; m += 1) tx.run('select sleep(0.5)').catch(() => undefined)
        },
        { lease: 3000, fence: false },
      )
      await expect(call).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        outcomeUnknown: false,
        message: expect.stringMatching(
          /could not be committed, and is rolled back: a statement that was not/,
        ),
      })
    },
  ])
  await Promise.all(calls.map((call) => call()))
  expect(await look('select n from t where n between 10 and 29')).toEqual([])
})
