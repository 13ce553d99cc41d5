import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { askFor } from '../support/asks.ts'
import { atEnd, locksOn, storeOn } from '../support/postgres-stage.ts'

const url = await freshDatabase()

const orUndefined = (value: unknown): unknown => value ?? undefined

/** What users set so that an absent value is `undefined`, which TypeScript has an easier time with. */
const TRANSFORMS = {
  'of each value': { value: { from: orUndefined } },
  'of each row': {
    row: {
      from: (row: object) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, orUndefined(value)])),
    },
  },
  'of undefined': { undefined: null },
}

function clientWith(transform: object): postgres.Sql {
  const sql = postgres(url, { max: 4, onnotice: () => {}, fetch_types: false, transform })
  atEnd(() => sql.end({ timeout: 0 }))
  return sql
}

describe.each(Object.entries(TRANSFORMS))(
  'an instance of postgres.js with a transform %s',
  (_of, transform) => {
    it('G6 has every release and every section told as they are', async () => {
      const sql = clientWith(transform)
      const [locks, other] = [locksOn(storeOn(sql)), locksOn(storeOn(sql))]
      expect(await locks.using('key', () => 'done')).toBe('done')
      const lease = await locks.acquire('key', { context: null })
      await lease.extend('1m')
      const next = other.acquire('key', { wait: '20s' })
      await expect.poll(async () => (await locks.inspect('key'))?.wanted).toBe(true)
      expect(await lease.release()).toBe(true)
      expect(await (await next).release()).toBe(true)
      expect(await locks.inspect('key')).toBeNull()
    })

    it('has all steps answered as they are: of several keys, and of an owner that is gone', async () => {
      const store = storeOn(clientWith(transform), { listen: false })
      const asks = ['a', 'b'].map((key) => askFor(key))
      expect(await store.acquire(asks)).toMatchObject(asks.map(() => ({ granted: true, previous: null })))
      expect(await store.renew(asks)).toMatchObject(asks.map(() => ({ renewed: true })))
      expect(await store.release(asks)).toEqual(asks.map(() => ({ released: true, wanted: false })))
      expect(await store.release(asks)).toEqual(asks.map(() => ({ released: false, wanted: false })))
      expect(await store.evict('a')).toBeNull()
    })

    it('G3 guards its transactions', async () => {
      const sql = clientWith(transform)
      const guard = fence(sql, { table: 'transformed' })
      expect(await guard.highest('r')).toBeNull()
      await sql.begin((tx) => guard.check(tx, 'r', 2n))
      const stale = sql.begin((tx) => guard.check(tx, 'r', 1n))
      await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN' })
      expect(await guard.highest('r')).toBe(2n)
      expect(await guard.forget('r')).toBe(true)
      expect(await guard.forget('r')).toBe(false)
      const one = await locksOn(storeOn(sql)).transaction('key', sql, async (tx) =>
        tx.unsafe('select 1 as one'),
      )
      expect(one).toEqual([{ one: 1 }])
    })
  },
)
