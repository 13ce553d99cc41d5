import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Ask, LockRecord, Store } from '../../src/store.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { redisCommand } from '../servers/redis-command.ts'
import { askFor } from '../support/asks.ts'
import { failureOf, ioredisOn, nameOf, storeOn } from '../support/redis-stage.ts'

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

/** A client after whose commands, so many of the first, something happens before the answer is there. */
function disturbed(times: number, disturb: () => Promise<unknown>): ReturnType<typeof ioredisOn> {
  const client = ioredisOn(url)
  const send = client.sendCommand.bind(client)
  let left = times
  client.sendCommand = async (...command) => {
    const answer: unknown = await send(...command)
    if (command[0].name.startsWith('eval') && left-- > 0) await disturb()
    return answer
  }
  return client
}

/** A store that is asked to free a key while `meanwhile` happens to its holder, so many times. */
async function evictingFrom(
  key: string,
  times: number,
  meanwhile: (holder: Store, ask: Ask) => Promise<unknown>,
): Promise<{ evicted: Promise<LockRecord | null>; locks: () => Promise<readonly LockRecord[]> }> {
  const holder = storeOn(url, { prefix })
  const ask = askFor(key)
  await holder.acquire([ask])
  const store = storeOn(
    disturbed(times, () => meanwhile(holder, ask)),
    { prefix },
  )
  return { evicted: store.evict(key), locks: async () => (await holder.list({ key, limit: 1 })).locks }
}

const rotate = (holder: Store, ask: Ask): Promise<unknown> => holder.renew([{ ...ask, rotate: true }])

it('G3 a forced release takes a key whose holder raises its number meanwhile', async () => {
  const { evicted, locks } = await evictingFrom('rotated', 1, rotate)
  expect(await evicted).toMatchObject({ key: 'rotated' })
  expect(await locks()).toEqual([])
})

it('G3 a forced release leaves the key to one who got it meanwhile', async () => {
  const next = askFor('passed on')
  const { evicted, locks } = await evictingFrom(next.key, 1, async (holder, ask) => {
    // A record tells the millisecond in which it began, and nothing finer.
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
