import { describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { movingStore } from '../../src/stores/moving/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import type { Store } from '../../src/store.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { failureOf, locksOn, proxyTo, until } from '../support/stage.ts'
import { Told } from '../support/told.ts'

const postgres = await freshDatabase()
const { url: redis, prefix } = freshPrefix()

const from = (url = redis): Store => redisStore(url, { prefix })
const to = (url = postgres): Store => postgresStore(url)
const LEASE_MS = 2000

/** From here on, what is told at most so often is not told again and again. */
const FEW = 4

describe('one who waits', () => {
  it.each(['from', 'to'] as const)(
    'G8 for a key that is held in `%s` alone is woken by its release, and does not ask again and again',
    async (side) => {
      const old = locksOn(side === 'from' ? from() : to())
      const lease = await old.acquire(`waited for, ${side}`)
      let asks = 0
      const counted = from()
      const acquire = counted.acquire.bind(counted)
      counted.acquire = (all) => ((asks += 1), acquire(all))
      // Polls so slow that only a message can be meant.
      const moving = locksOn(movingStore({ from: counted, to: to() }), { poll: { min: '30s', max: '30s' } })
      const turn = moving.acquire(lease.key, { wait: '60s' })
      await until('the waiter', async () => (await old.inspect(lease.key))?.wanted)
      // It may hear something of the other store, where the key is free; each time it would ask.
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect(asks).toBeLessThanOrEqual(FEW)
      await lease.release()
      expect((await turn).token).toBeGreaterThan(lease.token)
    },
  )

  it('G8 G9 between old, moving and new ones, all get their turn, with rising tokens', async () => {
    const moving = [1, 2].map(() => locksOn(movingStore({ from: from(), to: to() })))
    for (const alone of [from(), to()]) {
      const all = [locksOn(alone), ...moving]
      const tokens: bigint[] = []
      const turns = all.flatMap((locks) =>
        Array.from({ length: 10 }, () =>
          locks.using('shared', { wait: '50s' }, async (lease) => void tokens.push(lease.token)),
        ),
      )
      await Promise.all(turns)
      expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
      expect(new Set(tokens).size).toBe(30)
    }
  })
})

describe.each(['from', 'to'] as const)('`%s` out of reach', (side) => {
  it('G2 G7 a holder has word before its lease ends, nobody can lock, and all is well once it is back', async () => {
    const key = `out of reach, ${side}`
    const { proxy, url } = await proxyTo(side === 'from' ? redis : postgres)
    const store = side === 'from' ? { from: from(url), to: to() } : { from: from(), to: to(url) }
    const locks = locksOn(movingStore(store), { lease: LEASE_MS, callTimeout: 500 })
    const lease = await locks.acquire(key)
    const told = new Told(lease, LEASE_MS)
    proxy.freeze()
    told.cutOff()
    const failure = await failureOf(locks.acquire(`${key}, another`, { wait: 700 }))
    expect(failure.code).toBe('STORE_UNAVAILABLE')
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    // Those who use the other store alone are not held up for longer than a lease.
    const other = locksOn(side === 'from' ? to() : from())
    const next = await other.acquire(key, { wait: '20s' })
    expect(next.token).toBeGreaterThan(lease.token)
    await next.release()
    proxy.thaw()
    await until('the way back', () => locks.tryAcquire(`${key}, back`).catch(() => null))
  })
})
