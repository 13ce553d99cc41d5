import { setTimeout } from 'node:timers/promises'
import { PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Contender } from '../figures.ts'
import { fromHoldfast } from '../from-holdfast.ts'
import type { Opened } from '../opened.ts'
import { viaBareBatches } from './bare.ts'
import { viaKnex, viaKysely } from '../verrou.ts'
import { CREATE, giveBack, take } from './plain.ts'

type Peer = Extract<Contender, { readonly pool: number }>

export async function open(contender: Contender, url: string): Promise<Opened> {
  switch (contender.kind) {
    case 'holdfast':
      return fromHoldfast(url)
    case 'bare':
      return viaBareBatches(url)
    case 'plain':
      return viaPlainStatements(url, contender)
    case 'verrou-knex':
      return viaKnex(
        { client: 'pg', connection: url, pool: { min: 0, max: contender.pool } },
        contender.pollMs,
      )
    case 'verrou-kysely':
      return viaKysely(
        new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: contender.pool }) }),
        contender.pollMs,
      )
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
