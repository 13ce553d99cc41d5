import { describe, expect, it } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { Names } from '../../src/stores/redis/names.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import type { RedisServer } from '../servers/redis.ts'
import { CALM, startRedisCluster } from '../servers/redis-cluster.ts'
import { clusterClients, keysIn, Tokens } from '../support/redis-sets.ts'
import { atLast, failureOf, locksOn, until } from '../support/stage.ts'

// Nobody is to take over here: a master that a busy machine keeps waiting for a second would lose the move.
const cluster = await startRedisCluster({ settings: CALM })
atLast(() => cluster.stop())

const KEYS = Array.from({ length: 64 }, (_, index) => `key ${index}`)
const LEASE_MS = 6000

/** Two processes on one kind of client: one holds, the other waits, and only messages wake it. */
class Pair {
  readonly name: string
  readonly names: Names
  readonly holders: Locks
  readonly waiters: Locks
  readonly tokens: Tokens = new Tokens()
  leases: Lease[] = []

  constructor(name: string, prefix: string, holders: Locks, waiters: Locks) {
    this.name = name
    this.names = new Names(prefix, '')
    this.holders = holders
    this.waiters = waiters
    this.tokens.watch(holders)
    this.tokens.watch(waiters)
  }

  leaseOn(key: string): Lease {
    const lease = this.leases.find((one) => one.key === key)
    if (!lease) throw new Error(`${this.name}: ${key} was never held`)
    return lease
  }
}

let prefixes = 0

async function pairs(): Promise<Pair[]> {
  prefixes += 1
  return Promise.all(
    clusterClients(cluster).map(async ({ name, open }) => {
      const prefix = `p${prefixes}-${name}`
      const locks = async (): Promise<Locks> =>
        locksOn(redisStore(await open(), { prefix }), { lease: LEASE_MS, poll: { max: '20s' } })
      return new Pair(name, prefix, await locks(), await locks())
    }),
  )
}

async function wanted({ name, holders }: Pair, ...keys: string[]): Promise<void> {
  await until(`${name}: ${keys.join()} to be wanted`, async () => {
    const records = await Promise.all(keys.map((key) => holders.inspect(key)))
    return records.every((record) => record?.wanted)
  })
}

/** Until the deadline of each has moved on. */
async function renewed({ name, leases }: Pair): Promise<void> {
  const deadlines = leases.map((lease) => performance.now() + lease.remainingMs)
  await until(`${name}: renewals`, () => {
    leases.forEach((lease) => lease.assertHeld())
    return leases.every(
      (lease, index) => performance.now() + lease.remainingMs > (deadlines[index] ?? 0) + 100,
    )
  })
}

/** They are looked at later, or not at all if something else is wrong. */
function quiet(turns: readonly Promise<unknown>[]): void {
  for (const turn of turns) turn.catch(() => {})
}

async function another(than: RedisServer): Promise<RedisServer> {
  const other = (await cluster.masters()).find((node) => node !== than)
  if (!other) throw new Error('there is one master only')
  return other
}

describe('a slot that is moved', () => {
  it('G3 G7 G8 while its locks are held and waited for: all are kept, and waiters are woken by the new node', async () => {
    const keys = keysIn('07', 5)
    const slot = slotOf('{07}')
    const all = await pairs()
    const turns = await Promise.all(
      all.map(async (pair) => {
        pair.leases = await Promise.all([...keys, ...KEYS].map((key) => pair.holders.acquire(key)))
        const waiting = keys.map((key) => pair.waiters.acquire(key, { wait: '30s' }))
        quiet(waiting)
        await wanted(pair, ...keys)
        return waiting
      }),
    )
    const to = await another(await cluster.masterOf(slot))
    await cluster.moveSlot(slot, to)
    const woken = await Promise.all(
      all.map(async (pair, index) => {
        await renewed(pair)
        const start = performance.now()
        for (const key of keys) await pair.leaseOn(key).release()
        const leases = await Promise.all(turns[index] ?? [])
        // And back again: by now all who listen do so at the new node.
        const back = keys.map((key) => pair.holders.acquire(key, { wait: '30s' }))
        await wanted(pair, ...keys)
        for (const lease of leases) await lease.release()
        await Promise.all(back)
        return [pair.name, performance.now() - start < 2000, ...pair.tokens.faults]
      }),
    )
    expect(woken).toEqual(all.map(({ name }) => [name, true]))
    expect(await cluster.masterOf(slot)).toBe(to)
  })

  it('G3 G7 and is left half way: who holds goes on holding and gives back, and who waits is served once it has arrived', async () => {
    const keys = keysIn('21', 31)
    const fresh = keys.pop() ?? ''
    const [sent, staying] = [keys.slice(0, 15), keys.slice(15)]
    const wantedKeys = [...sent.slice(0, 3), ...staying.slice(0, 3)]
    const slot = slotOf('{21}')
    const all = await pairs()
    const turns = await Promise.all(
      all.map(async (pair) => {
        pair.leases = await Promise.all(keys.map((key) => pair.holders.acquire(key)))
        const waiting = wantedKeys.map((key) => pair.waiters.acquire(key, { wait: '40s' }))
        quiet(waiting)
        await wanted(pair, ...wantedKeys)
        return waiting
      }),
    )
    const move = await cluster.beginMove(slot, await another(await cluster.masterOf(slot)))
    for (const { names } of all) await move.send(...sent.map((key) => names.record(key)))
    const said: string[] = []
    await Promise.all(
      all.map(async (pair) => {
        // A grant needs more than one key of the slot.
        const error = await failureOf(pair.holders.tryAcquire(fresh))
        expect([pair.name, error.code, error.message]).toEqual([
          pair.name,
          'STORE_UNAVAILABLE',
          // A client that asks again and again may do so for longer than a call may take.
          expect.stringMatching(/a slot of the cluster is being moved|did not answer within/),
        ])
        said.push(error.message)
        await renewed(pair)
        await renewed(pair)
        const given = pair.leases.filter(({ key }) => wantedKeys.includes(key))
        expect(await Promise.all(given.map((lease) => lease.release()))).toEqual(given.map(() => true))
        pair.leases = pair.leases.filter((lease) => !given.includes(lease))
      }),
    )
    expect(said.join('\n')).toMatch(/is being moved/)
    await move.finish()
    await cluster.settled()
    await Promise.all(
      all.map(async (pair, index) => {
        await Promise.all(turns[index] ?? [])
        await pair.holders.acquire(fresh)
        await renewed(pair)
        expect([pair.name, ...pair.tokens.faults]).toEqual([pair.name])
      }),
    )
  })
})
