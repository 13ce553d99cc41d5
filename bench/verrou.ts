import { LockFactory } from '@verrou/core'
import { knexStore } from '@verrou/core/drivers/knex'
import { kyselyStore } from '@verrou/core/drivers/kysely'
import knex, { type Knex } from 'knex'
import { type Dialect, Kysely } from 'kysely'
import type { Opened } from './opened.ts'

const LEASE_MS = 30_000

/** verrou on a database that Knex talks to. */
export function viaKnex(config: Knex.Config, pollMs: number): Opened {
  const connection = knex(config)
  const factory = new LockFactory(knexStore({ connection }).factory(), { retry: { delay: pollMs } })
  return { lock: lockFrom(factory), close: () => connection.destroy() }
}

/** verrou on a database that Kysely talks to. */
export function viaKysely(dialect: Dialect, pollMs: number): Opened {
  const connection = new Kysely({ dialect })
  const factory = new LockFactory(kyselyStore({ connection }).factory(), { retry: { delay: pollMs } })
  return { lock: lockFrom(factory), close: () => connection.destroy() }
}

function lockFrom(factory: LockFactory): Opened['lock'] {
  return async (key) => {
    const lock = factory.createLock(key, LEASE_MS)
    if (!(await lock.acquire())) throw new Error(`could not get "${key}"`)
    return () => lock.release()
  }
}
