import { describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { locksOn, observe, storeOn, until } from '../support/postgres-stage.ts'

const url = await freshDatabase()
const query = observe(url)
await query("create table victim as select 'alive' as state")

// What breaks out of quotes, array literals, JSON, LIKE patterns, COPY, format strings or templates.
const HOSTILE = [
  `'; drop table victim; --`,
  `"; drop table victim; --`,
  `\\'; drop table victim; --`,
  `$$; drop table victim; $$`,
  `$1`,
  `$1::text; $2`,
  `{"a","b"}`,
  `{}`,
  `}`,
  `"`,
  `\\`,
  `\\\\"`,
  `NULL`,
  `null`,
  `a,b`,
  `%`,
  `_`,
  `%s %I`,
  `E'\\x00'`,
  `/* `,
  `--`,
  `'||pg_sleep(9)||'`,
  `=`,
  `#`,
  `?`,
  `holdfast:x`,
  ` `,
  ` lead and trail `,
  `ключ`,
  `鍵`,
  `🔒`,
  `e\u0301 and \u00e9`,
  `\u202e`,
  `\u00a0`,
  `x'); notify "holdfast:x"; --`,
]

describe.each(everyClient)('text that is hostile to SQL, through $name', (client) => {
  it('is only a key: each is its own, and comes back as it was', async () => {
    const locks = locksOn(storeOn(await client.open(url)))
    const keys = HOSTILE
    await Promise.all(keys.map((key) => locks.acquire(key)))
    const { locks: listed } = await locks.list({ limit: 1000 })
    expect(listed.map(({ key }) => key).sort()).toEqual([...keys].sort())
    for (const key of keys) {
      expect((await locks.inspect(key))?.key).toBe(key)
      expect(await locks.tryAcquire(key, { reentrant: false })).toBeNull()
      const page = await locks.list({ prefix: key, limit: 1000 })
      expect(page.locks.map((each) => each.key).sort()).toEqual(
        keys.filter((each) => each.startsWith(key)).sort(),
      )
    }
    for (const key of keys) expect((await locks.forceRelease(key))?.key).toBe(key)
    expect((await locks.list()).locks).toEqual([])
    expect(await query('select state from victim')).toEqual([{ state: 'alive' }])
  })

  it('is only a key for a waiter: it is woken for it', async () => {
    const [locks, others] = [
      locksOn(storeOn(await client.open(url)), { poll: { max: '20s' } }),
      locksOn(storeOn(url), { poll: { max: '20s' } }),
    ]
    // The longest travel as a digest.
    const keys = [...HOSTILE, `'"\\${'鍵'.repeat(160)}`]
    const leases = await Promise.all(keys.map((key) => others.acquire(key)))
    const turns = keys.map((key) => locks.acquire(key, { wait: '30s' }))
    await until('their names on the lists', async () => {
      const rows = await query('select 1 from holdfast_locks where cardinality(waiters) = 1')
      return rows.length === keys.length
    })
    const start = performance.now()
    await Promise.all(leases.map((lease) => lease.release()))
    for (const lease of await Promise.all(turns)) await lease.release()
    expect(performance.now() - start).toBeLessThan(5000)
  })

  it('is only what a holder says of itself, and comes back as it was', async () => {
    const store = storeOn(await client.open(url))
    // PostgreSQL has no text with a NUL, and JSON none with half of a pair.
    const all = [...HOSTILE, 'a\u0000b', '\u0000', '\ud800', '\udfff\ud800', '\u0001\n\t\u007f']
    for (const text of all) {
      const ask = askFor('context', { holder: { service: text, instance: text, context: text } })
      await grantOf(store, ask)
      expect((await store.list({ key: 'context', limit: 1 })).locks[0]?.holder).toEqual(ask.holder)
      await store.release([ask])
    }
    const asks = all.map((text, i) =>
      askFor(`context ${i}`, { holder: { service: text, instance: text, context: text } }),
    )
    await store.acquire(asks)
    const { locks } = await store.list({ prefix: 'context ', limit: 1000 })
    for (const { key, holder } of locks) {
      expect(holder).toEqual(asks.find((ask) => ask.key === key)?.holder)
    }
    await store.release(asks)
  })

  it('is only an owner: nobody gets in or out by it', async () => {
    const store = storeOn(await client.open(url))
    for (const [i, owner] of HOSTILE.entries()) {
      const ask = askFor('owned', { owner })
      await grantOf(store, ask)
      const other = HOSTILE[(i + 1) % HOSTILE.length] as string
      expect(await store.release([{ key: 'owned', owner: other }])).toMatchObject([{ released: false }])
      expect(await store.renew([{ ...ask, owner: other }])).toEqual([{ renewed: false }])
      expect(await store.release([ask])).toMatchObject([{ released: true }])
    }
    expect(await query('select state from victim')).toEqual([{ state: 'alive' }])
  })
})
