import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { drivers, memoryLocks, observe } from '../support/transaction-stage.ts'

const url = await freshDatabase()
const observer = await observe(url)

/** Node tells of each only once, so that one test may warn for those behind it. */
const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))

const ofPg = drivers.filter(({ name }) => name !== 'postgres.js')

describe.each(ofPg)('a transaction on $name whose function ends with its lease', (driver) => {
  it.each([1, 2])(
    'while statements run, %d of them: pg, which will no longer keep a queue, is given nothing to put into it',
    async (count) => {
      const opened = await driver.open(url, 2)
      const locks = memoryLocks()
      const call = locks.using('key', { lease: 9000 }, (outer) =>
        opened.transaction(locks, 'key', async (tx, lease) => {
          await tx.run('insert into t values (1)')
          for (let n = 0; n < count; n += 1) tx.run('select pg_sleep(0.7)').catch(() => undefined)
          const lost = once(lease.signal, 'abort')
          await locks.forceRelease('key')
          await outer.extend().catch(() => undefined)
          await lost
        }),
      )
      await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      expect(warnings).toEqual([])
      expect(await observer.rows()).toEqual([])
      await opened.transaction(locks, 'key', (tx) => tx.run('select 1'))
    },
  )
})
