import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import type { Store } from '../../src/store.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { atEnd, locksOn } from '../support/stage.ts'

/**
 * What goes over the wire for a script of work, counted at the driver and not timed. The numbers are those of today: who
 * makes something cheaper lowers them.
 */
const SCRIPTS: Record<string, (locks: Locks) => Promise<unknown>> = {
  'one lock': (locks) => pair(locks, 'one'),
  '100 tasks on keys of their own': (locks) => all(100, (i) => pair(locks, `key ${i}`)),
  '50 tasks on one key': (locks) => all(50, () => locks.using('one', () => {})),
  'ten keys': async (locks) =>
    (await locks.acquire(Array.from({ length: 10 }, (_, i) => `k ${i}`))).release(),
  '100 renewals at once': async (locks) => {
    const leases = await all(100, (i) => locks.acquire(`held ${i}`))
    await all(100, (i) => leases[i]?.extend())
    await all(100, (i) => leases[i]?.release())
  },
}

/** In the order of the scripts. 100 tasks are told in up to four groups, where the server is near, and give back in as many. */
type Most = readonly [number, number, number, number, number]
const TWO_TRIPS: Most = [2, 5, 2, 2, 3]
/** Many keys at once are an insert, an update and a look at what came of it. */
const MONGO: Most = [2, 7, 2, 4, 6]
/** So that no clean-up falls into what is counted. */
const keep = '24h'

type Heard = () => void

const STORES: Record<string, { open: (heard: Heard) => Promise<Store>; most: Most }> = {
  PostgreSQL: {
    open: async (heard) => {
      const pool = new pg.Pool({ connectionString: await freshDatabase(), max: 4 })
      pool.on('connect', (client) => listen(client, ['query'], heard))
      atEnd(() => pool.end())
      return postgresStore(pool, { keep })
    },
    most: TWO_TRIPS,
  },
  MariaDB: {
    open: async (heard) => {
      const pool = mysql.createPool({ uri: await freshMariadbDatabase(), connectionLimit: 4 })
      pool.on('connection', (connection) => listen(connection, ['query', 'execute'], heard))
      atEnd(() => pool.end())
      return mysqlStore(pool, { keep })
    },
    most: TWO_TRIPS,
  },
  MongoDB: {
    open: async (heard) => {
      const { url, database } = await freshMongoDatabase()
      const client = new MongoClient(url, { monitorCommands: true })
      client.on('commandStarted', heard)
      atEnd(() => client.close())
      return mongoStore(client.db(database))
    },
    most: MONGO,
  },
  Redis: {
    open: async (heard) => {
      const { url, prefix } = freshPrefix()
      const client = new Redis(url)
      listen(client, ['sendCommand'], heard)
      atEnd(() => client.disconnect())
      return redisStore(client, { prefix })
    },
    most: TWO_TRIPS,
  },
}

describe.each(Object.entries(STORES))('%s:', (_name, { open, most }) => {
  it('no script of work sends more than it did', async () => {
    let sent = 0
    const locks = locksOn(await open(() => (sent += 1)))
    const dearer: string[] = []
    for (const [index, [name, work]] of Object.entries(SCRIPTS).entries()) {
      // Once for connections, prepared statements and scripts.
      await work(locks)
      sent = 0
      await work(locks)
      if (sent > (most[index] ?? 0)) dearer.push(`${name}: ${sent}`)
      // Else it was not heard.
      expect(sent).toBeGreaterThan(1)
    }
    expect(dearer).toEqual([])
  })
})

async function pair(locks: Locks, key: string): Promise<void> {
  await (await locks.acquire(key)).release()
}

function all<T>(count: number, make: (i: number) => T): Promise<Awaited<T>[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => make(i)))
}

/** Hears each call of these methods. */
function listen(target: object, methods: readonly string[], heard: Heard): void {
  const own = target as Record<string, (...args: unknown[]) => unknown>
  for (const name of methods) {
    const method = own[name]
    own[name] = function (...args) {
      heard()
      return method?.apply(this, args)
    }
  }
}
