import { expect, it } from 'vitest'
import { freshPrefix } from '../servers/shared-redis.ts'
import { redisCommand } from '../servers/redis-command.ts'
import { askFor } from '../support/asks.ts'
import { nameOf, storeOn } from '../support/redis-stage.ts'

const { url, prefix } = freshPrefix()

async function leftMs(key: string): Promise<number> {
  return Number(await redisCommand(url, 'pttl', nameOf(key, prefix)))
}

it('G2 late copies of renewals, however many, bring the end of a longer lease no closer', async () => {
  const store = storeOn(url, { prefix })
  const ask = askFor('prolonged', { leaseMs: 10_000 })
  await store.acquire([ask])
  const { key, owner } = ask
  await store.renew([{ key, owner, leaseMs: 60_000 }])
  for (let i = 0; i < 3; i += 1) {
    expect(await store.renew([{ key, owner, leaseMs: 10_000 }])).toMatchObject([{ renewed: true }])
    expect(await leftMs(key)).toBeGreaterThan(50_000)
  }
  // What is in force is what is shown.
  expect((await store.list({ key, limit: 1 })).locks).toMatchObject([{ leaseMs: 60_000 }])
})

it('G2 a repeated ask for a longer lease is not cut short by a renewal for a shorter one', async () => {
  const store = storeOn(url, { prefix })
  const ask = askFor('asked again', { leaseMs: 10_000 })
  await store.acquire([ask])
  await store.acquire([{ ...ask, leaseMs: 60_000 }])
  await store.acquire([{ ...ask, leaseMs: 5_000 }])
  await store.renew([{ key: ask.key, owner: ask.owner, leaseMs: 10_000 }])
  expect(await leftMs(ask.key)).toBeGreaterThan(50_000)
})
