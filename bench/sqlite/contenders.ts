import { setTimeout } from 'node:timers/promises'
import { SqliteDialect } from 'kysely'
import Database from 'libsql'
import { fromHoldfast } from '../from-holdfast.ts'
import type { Opened } from '../opened.ts'
import { viaKysely } from '../verrou.ts'
import type { SqliteContender } from './figures.ts'
import { openPlain, setAlike } from './plain.ts'

export async function open(contender: SqliteContender, file: string): Promise<Opened> {
  switch (contender.kind) {
    case 'holdfast':
      return fromHoldfast(`sqlite:${file}`)
    case 'plain':
      return viaPlainStatements(file, contender.pollMs)
    case 'verrou-kysely':
      return viaVerrou(file, contender.pollMs)
  }
}

async function viaPlainStatements(file: string, pollMs: number): Promise<Opened> {
  const plain = await openPlain(file)
  return {
    async lock(key) {
      for (;;) {
        const owner = plain.take(key)
        if (owner !== null) return async () => plain.giveBack(key, owner)
        await setTimeout(pollMs)
      }
    },
    close: async () => plain.close(),
  }
}

/** Kysely knows better-sqlite3, which libsql takes after, and not `node:sqlite`. */
function viaVerrou(file: string, pollMs: number): Opened {
  return viaKysely(new SqliteDialect({ database: setAlike(new Database(file)) }), pollMs)
}
