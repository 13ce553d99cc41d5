import { setTimeout } from 'node:timers/promises'
import { LockFactory } from '@verrou/core'
import { knexStore } from '@verrou/core/drivers/knex'
import { kyselyStore } from '@verrou/core/drivers/kysely'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { holdfast } from '../built.ts'
import type { Contender } from '../figures.ts'
import type { Opened } from '../opened.ts'
import { viaBareBatches } from './bare.ts'
import { CREATE, giveBack, take } from './plain.ts'

/** Long enough for whoever is unlucky while all others poll. */
const WAIT_MS = 120_000
const LEASE_MS = 30_000

type Peer = Extract<Contender, { readonly pool: number }>

export async function open(contender: Contender, url: string): Promise<Opened> {
  switch (contender.kind) {
    case 'holdfast':
      return viaHoldfast(url)
    case 'bare':
      return viaBareBatches(url)
    case 'plain':
      return viaPlainStatements(url, contender)
    case 'verrou-knex':
      return viaKnex(url, contender)
    case 'verrou-kysely':
      return viaKysely(url, contender)
  }
}

function viaHoldfast(url: string): Opened {
  const locks = holdfast.createLocks(url, { wait: WAIT_MS })
  return {
    async lock(key) {
      const lease = await locks.acquire(key)
      return () => lease.release()
    },
    close: () => locks.close(),
  }
}

async function viaPlainStatements(url: string, { pool: max, pollMs }: Peer): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: url, max })
  // Processes that create it at once get in each other's way.
  await pool.query(CREATE).catch(() => pool.query(CREATE))
  return {
    async lock(key) {
      for (;;) {
        const owner = await take(pool, key)
        if (owner !== null) return () => giveBack(pool, key, owner)
        await setTimeout(pollMs)
      }
    },
    close: () => pool.end(),
  }
}

async function viaKnex(url: string, { pool, pollMs }: Peer): Promise<Opened> {
  const connection = knex({ client: 'pg', connection: url, pool: { min: 0, max: pool } })
  const factory = new LockFactory(knexStore({ connection }).factory(), { retry: { delay: pollMs } })
  return { lock: lockFrom(factory), close: () => connection.destroy() }
}

async function viaKysely(url: string, { pool: max, pollMs }: Peer): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: url, max })
  const connection = new Kysely({ dialect: new PostgresDialect({ pool }) })
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
