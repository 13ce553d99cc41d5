import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import type { Store } from '../../src/store.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { bucketOf } from '../../src/stores/redis/names.ts'
import { slotOf } from '../../src/stores/redis/slot.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { askFor } from '../support/asks.ts'
import {
  clusterClients,
  killUnheard,
  renewThrough,
  replicated,
  type SetClient,
  Tokens,
} from '../support/redis-sets.ts'
import { atEnd, atLast, heldOn, locksOn, until } from '../support/stage.ts'
import { Told } from '../support/told.ts'

/** For so long nobody even misses a master, so that shorter leases cannot outlast its fail-over. */
const MISSED_MS = 4000
const SHORT_MS = 3500
/** Who is held up by a call to a master that is gone waits longer: such a call is given up after 2.5 s. */
const HUNG_MS = 2000
const LONG_MS = 9000
/** Outlasts a fail-over, also one that needed a second election; no promise says how long it is. */
const KEPT_MS = 40_000

const cluster = await startRedisCluster({
  settings: {
    'cluster-node-timeout': MISSED_MS,
    // Else all nodes refuse to serve from the time that they miss one until it is replaced.
    'cluster-require-full-coverage': 'no',
  },
})
atLast(() => cluster.stop())

const buckets = Array.from({ length: 64 }, (_, bucket) => String(bucket).padStart(2, '0'))
const first = await cluster.masterOf(slotOf('{00}'))
const masters = await Promise.all(buckets.map((bucket) => cluster.masterOf(slotOf(`{${bucket}}`))))
/** Whether the key is on the master that is killed. */
const doomed = (key: string): boolean => masters[Number(bucketOf(key))] === first

function keys(what: string, count: number, which: (key: string) => boolean = () => true): string[] {
  const found: string[] = []
  for (let index = 0; found.length < count; index += 1)
    if (which(`${what} ${index}`)) found.push(`${what} ${index}`)
  return found
}

/** Two processes on one kind of client: one holds, the other waits, and only messages wake it. */
class Pair {
  readonly name: string
  readonly store: Store
  readonly holders: Locks
  readonly waiters: Locks
  readonly tokens: Tokens = new Tokens()
  readonly all: Told[] = []
  readonly turns: Map<string, Promise<Lease>> = new Map()
  readonly faults: string[] = []

  private constructor(name: string, [store, other]: readonly [Store, Store]) {
    this.name = name
    this.store = store
    this.holders = locksOn(store, { poll: { max: '10s' } })
    this.waiters = locksOn(other, { poll: { max: '10s' } })
    for (const locks of [this.holders, this.waiters]) this.tokens.watch(locks)
  }

  static async of({ name, open }: SetClient): Promise<Pair> {
    const store = async (): Promise<Store> => redisStore(await open(), { prefix: name })
    return new Pair(name, [await store(), await store()])
  }

  async hold(names: readonly string[], leaseMs: number): Promise<void> {
    const leases = await Promise.all(names.map((key) => this.holders.acquire(key, { lease: leaseMs })))
    this.all.push(...leases.map((lease) => new Told(lease, leaseMs)))
  }

  async want(names: readonly string[]): Promise<void> {
    for (const key of names) {
      const turn = this.waiters.acquire(key, { wait: '50s', lease: LONG_MS }).then((lease) => {
        if (this.#on(key)?.lease.held && !key.startsWith('forgotten')) this.faults.push(`two hold ${key}`)
        return lease
      })
      turn.catch(() => {}) // It is looked at later, or not at all if something else is wrong.
      this.turns.set(key, turn)
    }
    await until(`${this.name}: waiters`, async () => {
      const records = await Promise.all(names.map((key) => this.holders.inspect(key)))
      return records.every((record) => record?.wanted)
    })
  }

  /** Asks for keys of the other masters until `over`, while others in the same process ask for those that are lost. */
  async goOn(over: () => boolean): Promise<void> {
    for (let round = 0; !over(); round += 1) {
      void this.holders.tryAcquire(keys(`doomed ${round}`, 1, doomed)[0] ?? '').catch(() => {})
      const start = performance.now()
      const [key = ''] = keys(`other ${round}`, 1, (one) => !doomed(one))
      const lease = await this.holders.tryAcquire(key).catch(() => null)
      const tookMs = performance.now() - start
      if (!lease || tookMs > HUNG_MS)
        this.faults.push(`${key} was ${lease ? `late by ${tookMs} ms` : 'refused'}`)
      await lease?.release()
      await sleep(20)
    }
  }

  /** Also what is kept is renewed meanwhile. */
  async renew(over: () => boolean): Promise<void> {
    const kept = this.all.filter(({ lease }) => lease.key.startsWith('kept'))
    await renewThrough(
      kept.map(({ lease }) => lease),
      over,
    )
  }

  async settle(): Promise<void> {
    for (const one of this.all) {
      const { key } = one.lease
      const goes = key.startsWith('forgotten') || (key.startsWith('short') && doomed(key))
      if (goes) await until(`${this.name}: word of ${key}`, () => one.told)
      if (goes ? !one.inTime : !one.lease.held)
        this.faults.push(goes ? `${key}: told late` : `${key} was lost`)
    }
    for (const [key, turn] of this.turns) {
      const start = performance.now()
      await this.#on(key)?.lease.release()
      await (await turn).release()
      if (performance.now() - start > 1500) this.faults.push(`nobody was woken for ${key}`)
    }
  }

  #on(key: string): Told | undefined {
    return this.all.find(({ lease }) => lease.key === key)
  }
}

it('G3 G7 a master is killed during 1,000 locks: what it had not passed on is lost in time, all else goes on', async () => {
  atEnd(async () => {
    await first.start()
    await cluster.settled()
  })
  const all = await Promise.all(clusterClients(cluster).map((client) => Pair.of(client)))
  for (const pair of all) {
    await pair.hold(keys('kept', 1000), KEPT_MS)
    await pair.want(keys('kept', 10, doomed))
  }
  const replica = await cluster.replicaOf(first)
  await Promise.all(all.map((pair) => pair.hold(keys('short', 30), SHORT_MS)))
  await Promise.all(all.map((pair) => pair.want(keys('short', 3, doomed))))
  await replicated(first, 1)
  await killUnheard(first, [replica], () =>
    Promise.all(
      all.map(async (pair) => {
        await pair.hold(keys('forgotten', 10, doomed), LONG_MS)
        await pair.want(keys('forgotten', 1, doomed))
      }),
    ),
  )
  for (const one of all.flatMap((pair) => pair.all)) one.cutOff()

  // A batch that spans all nodes, straight to the store.
  const names = keys('batch', 60)
  await Promise.all(
    all.map(async ({ name, store }) => {
      const asks = names.map((key) => askFor(key, { leaseMs: 1000 }))
      const answers = await store.acquire(asks)
      const failed = names.filter((_, index) => 'error' in (answers[index] ?? {}))
      expect([name, failed]).toEqual([name, names.filter(doomed)])
    }),
  )
  let over = false
  const going = all.flatMap((pair) => [pair.goOn(() => over), pair.renew(() => over)])
  await cluster.settled()
  over = true
  await Promise.all(going)
  await Promise.all(all.map((pair) => pair.settle()))
  expect(all.map(({ name, faults, tokens }) => [name, ...faults, ...tokens.faults])).toEqual(
    all.map(({ name }) => [name]),
  )
})

it('G7 with `replicas: 1`, a fail-over forgets nothing that was granted', async () => {
  const all = await Promise.all(
    clusterClients(cluster).map(async ({ name, open }) => ({
      name,
      locks: locksOn(redisStore(await open(), { prefix: `sure-${name}`, replicas: 1 })),
    })),
  )
  const names = keys('sure', 60)
  const master = await cluster.masterOf(slotOf('{00}'))
  const leases = await Promise.all(
    all.map(({ locks }) => Promise.all(names.map((key) => locks.acquire(key, { lease: KEPT_MS })))),
  )
  await master.kill()
  await cluster.settled()
  // The new master has no replica until the old one is that.
  await master.start()
  await cluster.settled()
  for (const [index, { name, locks }] of all.entries()) {
    const mine = leases[index] ?? []
    // A client may first have to notice where the slots are now.
    await until(`${name}: renewals`, async () => {
      const results = await Promise.allSettled(mine.map((lease) => lease.extend()))
      expect([name, mine.filter(({ held }) => !held)]).toEqual([name, []])
      return results.every(({ status }) => status === 'fulfilled')
    })
    const records = await heldOn(locks)
    const known = new Map(records.map(({ key, grant }) => [key, BigInt(grant) << 10n]))
    expect([name, known]).toEqual([name, new Map(mine.map(({ key, token }) => [key, token]))])
  }
})
