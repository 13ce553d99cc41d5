import { setTimeout } from 'node:timers/promises'
import { MysqlDialect } from 'kysely'
import mysql from 'mysql2'
import { fromHoldfast } from '../from-holdfast.ts'
import type { Opened } from '../opened.ts'
import { viaKnex, viaKysely } from '../verrou.ts'
import type { MariadbContender } from './figures.ts'
import { CONNECTIONS, makePlain } from './server.ts'

type Peer = Extract<MariadbContender, { readonly pollMs: number }>

export async function open(contender: MariadbContender, url: string): Promise<Opened> {
  if (contender.kind === 'holdfast') return fromHoldfast(url)
  return despiteDeadlocks(await peerOf(contender, url), contender.pollMs)
}

async function peerOf({ kind, pollMs }: Peer, url: string): Promise<Opened> {
  switch (kind) {
    case 'plain':
      return viaPlainStatements(url, pollMs)
    case 'verrou-knex':
      return viaKnex({ client: 'mysql2', connection: url, pool: { min: 0, max: CONNECTIONS } }, pollMs)
    case 'verrou-kysely':
      return viaKysely(new MysqlDialect({ pool: poolAt(url) }), pollMs)
  }
}

async function viaPlainStatements(url: string, pollMs: number): Promise<Opened> {
  const pool = poolAt(url).promise()
  const plain = await makePlain(pool)
  return {
    async lock(key) {
      for (;;) {
        const owner = await plain.take(key)
        if (owner !== null) return () => plain.giveBack(key, owner)
        await setTimeout(pollMs)
      }
    },
    close: () => pool.end(),
  }
}

function poolAt(url: string): mysql.Pool {
  return mysql.createPool({ uri: url, connectionLimit: CONNECTIONS })
}

/** Many inserts of one key that is being deleted can end so; to ask again is what one does. */
function despiteDeadlocks({ lock, close }: Opened, pollMs: number): Opened {
  const persist = async <T>(step: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await step()
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ER_LOCK_DEADLOCK') throw error
        await setTimeout(pollMs)
      }
    }
  }
  return {
    async lock(key) {
      const unlock = await persist(() => lock(key))
      return () => persist(unlock)
    },
    close,
  }
}
