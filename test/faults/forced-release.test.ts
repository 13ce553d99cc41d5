import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { MongoDb, MongoDocument } from '../../src/databases/mongo.ts'
import type { Ask, Store } from '../../src/store.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { clientOn } from '../support/mongo-stage.ts'
import { disguised, telling } from '../support/mysql-client.ts'
import { observe, poolOn } from '../support/mysql-stage.ts'
import { atEnd, failureOf } from '../support/stage.ts'

interface Stage {
  /** Tells what it has sent, once that is answered. */
  open(told: (sent: unknown) => unknown): Store
  /** As a network does that delivers it once more. */
  deliver(sent: unknown): Promise<unknown>
}

const mysqlUrl = await freshMariadbDatabase()
const mongo = await freshMongoDatabase()
const look = observe(mysqlUrl)

function onMysql(as: (pool: ReturnType<typeof poolOn>) => ReturnType<typeof poolOn>): Stage {
  return {
    open: (told) => mysqlStore(as(telling(poolOn(mysqlUrl), told))),
    deliver: (sql) => look(sql as string),
  }
}

const stages: Record<string, Stage> = {
  MariaDB: onMysql((pool) => pool),
  'what says to be MySQL': onMysql(disguised),
  MongoDB: {
    open: (told) => {
      const db = clientOn(mongo.url).db(mongo.database) as unknown as MongoDb
      const command = async (document: MongoDocument, options?: object): Promise<MongoDocument> => {
        const reply = await db.command(document, options)
        await told(document)
        return reply
      }
      const { databaseName, client } = db
      return mongoStore({ databaseName, client, command, collection: (name) => db.collection(name) })
    },
    deliver: (command) =>
      clientOn(mongo.url)
        .db(mongo.database)
        .command(command as MongoDocument),
  },
}

describe.each(Object.entries(stages))(
  'a forced release without a number, in %s',
  (name, { open, deliver }) => {
    async function toldStore(told: (sent: unknown) => unknown): Promise<Store> {
      let opened = false
      const store = open((sent) => opened && told(sent))
      atEnd(() => store.close())
      await store.open()
      opened = true
      return store
    }

    /** A key that is freed by force while `meanwhile` happens to its holder, after so many of the steps for it. */
    async function evictingFrom(
      ask: Ask,
      times: number,
      meanwhile: (holder: Store, ask: Ask) => Promise<unknown>,
    ): Promise<{ evicted: ReturnType<Store['evict']>; isHeld: () => Promise<boolean> }> {
      const holder = await toldStore(() => undefined)
      await grantOf(holder, ask)
      let left = times
      const store = await toldStore(() => left-- > 0 && meanwhile(holder, ask))
      const isHeld = async (): Promise<boolean> =>
        (await holder.list({ key: ask.key, limit: 1 })).locks.length === 1
      return { evicted: store.evict(ask.key), isHeld }
    }

    const rotate = (holder: Store, ask: Ask): Promise<unknown> => holder.renew([{ ...ask, rotate: true }])

    it('G5 that arrives once more takes the key from nobody who got it later', async () => {
      const sent: unknown[] = []
      const store = await toldStore((one) => sent.push(one))
      const holder = await toldStore(() => undefined)
      const ask = askFor(`${name}: delivered twice`)
      await grantOf(holder, ask)
      expect(await store.evict(ask.key)).toMatchObject({ key: ask.key })
      const next = askFor(ask.key)
      await grantOf(holder, next)
      expect(sent).toHaveLength(name.includes('MySQL') ? 3 : 2)
      for (const one of sent) await deliver(one)
      expect(await holder.renew([next])).toMatchObject([{ renewed: true }])
    })

    it('G5 leaves the key to one who got it meanwhile', async () => {
      const next = askFor(`${name}: passed on`)
      const { evicted, isHeld } = await evictingFrom(askFor(next.key), 1, async (holder, ask) => {
        // Who has the key is told by the millisecond in which it got it.
        await setTimeout(2)
        await holder.release([ask])
        await grantOf(holder, next)
      })
      expect(await evicted).toBeNull()
      expect(await isHeld()).toBe(true)
    })

    it('G3 takes the key of a holder that raises its number meanwhile', async () => {
      const ask = askFor(`${name}: rotated`)
      const { evicted, isHeld } = await evictingFrom(ask, 1, rotate)
      expect(await evicted).toMatchObject({ key: ask.key })
      expect(await isHeld()).toBe(false)
    })

    it('G5 that never meets the number in force says so, and not that the key is free', async () => {
      const ask = askFor(`${name}: rotated all the time`)
      const { evicted, isHeld } = await evictingFrom(ask, 100, rotate)
      expect(await failureOf(evicted)).toMatchObject({ code: 'STORE_UNAVAILABLE', key: ask.key })
      expect(await isHeld()).toBe(true)
    })
  },
)
