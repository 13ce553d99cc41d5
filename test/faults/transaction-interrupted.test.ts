import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { drivers, memoryLocks, observe, until } from '../support/transaction-stage.ts'
import type { Opened, Tx } from '../support/transaction-drivers.ts'
import { ASLEEP, sessionsThat } from '../support/pg-sessions.ts'

const url = await freshDatabase()
const observer = await observe(url)

// As on a server that is slow just then: between the look at who runs what, and the signal.
await observer.run(`create function public.pg_cancel_backend(pid int) returns boolean language plpgsql as
  $$ begin perform pg_sleep(0.8); return pg_catalog.pg_cancel_backend(pid); end $$`)
await observer.run(`do $$ begin
  execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`)

beforeEach(() => observer.run('truncate t'))

/** Its function waits for what `run` resolves to, after the lease was lost while a statement ran. */
function losing(opened: Opened, locks: Locks, run: (tx: Tx) => Promise<unknown>): Promise<unknown> {
  return locks.using('key', { lease: 9000 }, (outer) =>
    opened.transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      const running = run(tx)
      running.catch(() => undefined)
      await until('it to run', () => sessionsThat(observer.run, ASLEEP))
      await locks.forceRelease('key')
      await outer.extend().catch(() => undefined)
      await running
    }),
  )
}

describe.each(drivers.filter(({ pooled }) => pooled))(
  'a statement on $name that is to be interrupted',
  (driver) => {
    it('and ends by itself just then: the connection comes back when nothing on it can be cancelled any more', async () => {
      const opened = await driver.open(url, 2)
      const call = losing(opened, memoryLocks(), (tx) => tx.run('select pg_sleep(0.5)'))
      await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      const others = [1, 2].map(() => opened.run('select pg_sleep(1.2)'))
      await expect(Promise.all(others)).resolves.toHaveLength(2)
      expect(await observer.rows()).toEqual([])
    })

    it('is not waited for by ROLLBACK while the interruption has no connection', async () => {
      const opened = await driver.open(url, 2)
      const other = opened.run('select 1 from generate_series(1, 40) where pg_sleep(0.1) is null')
      await until('the other to run', () => sessionsThat(observer.run, ASLEEP))
      let endedAt = Number.NaN
      const call = losing(opened, memoryLocks(), async (tx) => {
        await tx.run('select pg_sleep(0.5)')
        endedAt = performance.now()
      })
      await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      expect(performance.now() - endedAt).toBeLessThan(1000)
      await other
      // By then it has had its connection.
      await Promise.all([1, 2].map(() => opened.run('select pg_sleep(1)')))
    })
  },
)

describe.each(drivers.filter(({ pooled }) => pooled))(
  'what the function of $name did not wait for',
  (driver) => {
    it('is interrupted in front of COMMIT when the lease is lost', async () => {
      const opened = await driver.open(url, 2)
      const locks = memoryLocks()
      let lostAt = Number.NaN
      const call = locks.using('key', { lease: 30_000 }, (outer) =>
        opened.transaction(locks, 'key', async (tx) => {
          await tx.run('insert into t values (1)')
          tx.run('select pg_sleep(9)').catch(() => undefined)
          await until('it to run', () => sessionsThat(observer.run, ASLEEP))
          void pause(100).then(async () => {
            await locks.forceRelease('key')
            lostAt = performance.now()
            await outer.extend().catch(() => undefined)
          })
        }),
      )
      await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
      expect(performance.now() - lostAt).toBeLessThan(4000)
      expect(await observer.rows()).toEqual([])
      await opened.transaction(locks, 'key', (tx) => tx.run('insert into t values (2)'))
      expect(await observer.rows()).toEqual([2])
    })
  },
)
