import { setTimeout } from 'node:timers/promises'
import type pg from 'pg'
import { expect, it } from 'vitest'
import type { Ask, LockRecord, Store } from '../../src/store.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { askFor, grantOf } from '../support/asks.ts'
import { failureOf, poolOn, storeOn } from '../support/postgres-stage.ts'

const url = await freshDatabase()

/** A store that is open, and whose every statement is told, once it is answered. */
async function toldStore(told: (query: pg.QueryConfig) => unknown): Promise<Store> {
  let opened = false
  const pool = poolOn(url, { max: 1 }).on('connect', (client) => {
    const send = client.query.bind(client) as (query: pg.QueryConfig) => Promise<unknown>
    Object.assign(client, {
      async query(query: pg.QueryConfig) {
        const answer = await send(query)
        if (opened) await told(query)
        return answer
      },
    })
  })
  const store = storeOn(pool, { listen: false })
  await store.open()
  opened = true
  return store
}

it('G5 a forced release whose statements arrive again takes the key from nobody who got it later', async () => {
  const sent: pg.QueryConfig[] = []
  const store = await toldStore((query) => sent.push(query))
  const holder = storeOn(url)
  await grantOf(holder, askFor('delivered twice'))
  expect(await store.evict('delivered twice')).toMatchObject({ key: 'delivered twice' })
  const next = askFor('delivered twice')
  await grantOf(holder, next)
  const pool = poolOn(url)
  for (const query of sent) await pool.query({ text: query.text, values: query.values ?? [] })
  expect(sent.some(({ text }) => text.includes('update'))).toBe(true)
  expect(await holder.renew([next])).toMatchObject([{ renewed: true }])
})

/** A key that is freed by force while `meanwhile` happens to its holder, after so many of the statements for it. */
async function evictingFrom(
  key: string,
  times: number,
  meanwhile: (holder: Store, ask: Ask) => Promise<unknown>,
): Promise<{ evicted: Promise<LockRecord | null>; locks: () => Promise<readonly LockRecord[]> }> {
  const holder = storeOn(url)
  const ask = askFor(key)
  await grantOf(holder, ask)
  let left = times
  const store = await toldStore(() => left-- > 0 && meanwhile(holder, ask))
  return { evicted: store.evict(key), locks: async () => (await holder.list({ key, limit: 1 })).locks }
}

const rotate = (holder: Store, ask: Ask): Promise<unknown> => holder.renew([{ ...ask, rotate: true }])

it('G3 a forced release takes a key whose holder raises its number meanwhile', async () => {
  const { evicted, locks } = await evictingFrom('rotated', 1, rotate)
  expect(await evicted).toMatchObject({ key: 'rotated' })
  expect(await locks()).toEqual([])
})

it('G5 a forced release leaves the key to one who got it meanwhile', async () => {
  const next = askFor('passed on')
  const { evicted, locks } = await evictingFrom(next.key, 1, async (holder, ask) => {
    // Who has the key is told by the millisecond in which it got it.
    await setTimeout(2)
    await holder.release([ask])
    await holder.acquire([next])
  })
  expect(await evicted).toBeNull()
  expect(await locks()).toHaveLength(1)
})

it('G5 a forced release that never meets the number in force says so, and not that the key is free', async () => {
  const { evicted, locks } = await evictingFrom('rotated all the time', 100, rotate)
  expect(await failureOf(evicted)).toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'rotated all the time' })
  expect(await locks()).toHaveLength(1)
})
