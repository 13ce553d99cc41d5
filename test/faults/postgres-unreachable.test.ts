import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import {
  atEnd,
  failureOf,
  failureWithin,
  locksOn,
  poolOn,
  proxyTo,
  storeOn,
} from '../support/postgres-stage.ts'

const url = await freshDatabase()

/** Takes connections and never says a word, as behind a firewall that swallows everything. */
async function blackHole(): Promise<string> {
  const { proxy, url: proxied } = await proxyTo(url)
  proxy.freeze()
  return proxied
}

/** What a call to a store says, which must not take longer than its limit. */
async function complaintOf(db: Parameters<typeof storeOn>[0], calls = 1): Promise<string> {
  const store = storeOn(db, { listen: false })
  const failures = Array.from({ length: calls }, () => failureWithin(3000, store.list({ limit: 1 })))
  const last = (await Promise.all(failures)).at(-1)
  expect(last).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  return String(last?.message)
}

describe('a server that does not answer', () => {
  it('is what a URL is told to have, whether its pool is full or not', async () => {
    const advice = /check host, port and firewall(?!, and set)/
    expect(await complaintOf(await blackHole())).toMatch(advice)
    expect(await complaintOf(await blackHole(), 6)).toMatch(advice)
  })

  it('is told apart from a pool of yours that is used up, also if it waits for ever', async () => {
    const empty = poolOn(await blackHole())
    const says =
      /within 2500 ms \(1 open, .*\): 1 of 1 are still trying to reach the server: check host, .* set connectionTimeoutMillis/
    expect(await complaintOf(empty)).toMatch(says)
    const full = poolOn(await blackHole(), { max: 2 })
    expect(await complaintOf(full, 4)).toMatch(/2 of 2 are still trying to reach/)
  })

  it('is given up by a pool, or postgres.js, that has a limit of its own', async () => {
    const says = /the server cannot be reached; check host, port and firewall/
    expect(await complaintOf(poolOn(await blackHole(), { connectionTimeoutMillis: 400 }))).toMatch(says)
    const sql = postgres(await blackHole(), { connect_timeout: 1, fetch_types: false })
    atEnd(() => sql.end({ timeout: 0 }))
    expect(await complaintOf(sql)).toMatch(says)
  })

  it('after it had answered: the pool that fills up with new connections does not blame transactions', async () => {
    const { proxy, url: proxied } = await proxyTo(url)
    const pool = poolOn(proxied, { max: 3 })
    await pool.query('select 1')
    proxy.cut()
    proxy.freeze()
    expect(await complaintOf(pool, 5)).toMatch(/3 of 3 are still trying to reach the server/)
    // It works again as soon as the network does.
    proxy.thaw()
    const store = storeOn(pool, { listen: false })
    expect((await store.list({ limit: 1 })).locks).toEqual([])
  })

  it('is what a transaction that cannot begin says', async () => {
    const locks = locksOn(memoryStore())
    const begin = async (lease: number, limit: object): Promise<string> => {
      const pool = poolOn(await blackHole(), limit)
      const call = locks.transaction('key', pool, () => undefined, { lease, fence: false })
      const { code, message } = await failureOf(call)
      expect(code).toBe('STORE_UNAVAILABLE')
      return message
    }
    const still =
      /could not begin.*within 500 ms \(1 open, 0 idle, 0 waiting\); 1 of 1 are still trying to reach/
    expect(await begin(1500, {})).toMatch(still)
    const givenUp = /could not begin.*the server cannot be reached; check host, port and firewall/
    expect(await begin(9000, { connectionTimeoutMillis: 200 })).toMatch(givenUp)
  })
})

describe('a pool with a limit of its own that is used up', () => {
  it('is not taken for one that does not reach its server', async () => {
    const pool = poolOn(url, { max: 1, connectionTimeoutMillis: 300 })
    const busy = await pool.connect()
    expect(await complaintOf(pool)).toMatch(/within 300 ms .*your own transactions use all 1/)
    const call = locksOn(memoryStore()).transaction('key', pool, () => undefined, { fence: false })
    expect((await failureOf(call)).message).toMatch(/\(1 open, 0 idle, 0 waiting\); make the pool larger/)
    busy.release()
  })
})
