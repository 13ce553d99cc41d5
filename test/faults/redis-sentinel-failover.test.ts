import { expect, it } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startSentinel } from '../servers/redis-sentinel.ts'
import { atEnd, atLast, locksOn, until } from '../support/stage.ts'
import {
  killUnheard,
  renewThrough,
  replicated,
  sentinelClients,
  type SetClient,
  Tokens,
} from '../support/redis-sets.ts'
import { Told } from '../support/told.ts'

const set = await startSentinel()
atLast(() => set.stop())

/** What is kept must outlast a fail-over, also one that the sentinels had to try twice; no promise says how long it is. */
const LEASE_MS = { kept: 40_000, forgotten: 8000, short: 900 }
let prefixes = 0

/** Two processes that use the same client library: one holds, the other waits. */
class Pair {
  readonly name: string
  readonly holders: Locks
  readonly waiters: Locks
  readonly tokens: Tokens = new Tokens()
  readonly kept: Told[] = []
  readonly forgotten: Told[] = []
  readonly short: Told[] = []
  readonly turns: Map<string, Promise<Lease>> = new Map()
  readonly #faults: string[] = []

  private constructor(name: string, [holders, waiters]: readonly [Locks, Locks]) {
    this.name = name
    this.holders = holders
    this.waiters = waiters
    this.tokens.watch(holders)
    this.tokens.watch(waiters)
  }

  static async of({ name, open }: SetClient, prefix: string): Promise<Pair> {
    // Messages are what wakes: the next ask without one would come too late.
    const locks = async (): Promise<Locks> =>
      locksOn(redisStore(await open(), { prefix }), { poll: { max: '10s' } })
    return new Pair(name, [await locks(), await locks()])
  }

  async hold(what: 'kept' | 'forgotten' | 'short', count: number): Promise<void> {
    const leaseMs = LEASE_MS[what]
    const keys = Array.from({ length: count }, (_, index) => `${what} ${index}`)
    const leases = await Promise.all(keys.map((key) => this.holders.acquire(key, { lease: leaseMs })))
    this[what].push(...leases.map((lease) => new Told(lease, leaseMs)))
  }

  /** Somebody waits for these. */
  async want(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const turn = this.waiters.acquire(key, { wait: '50s', lease: LEASE_MS.kept }).then((lease) => {
        // Of what the new master has never heard, it cannot keep others away.
        const before = [...this.kept, ...this.short].find((one) => one.lease.key === key)
        if (before?.lease.held) this.#faults.push(`two hold ${key}`)
        return lease
      })
      turn.catch(() => {}) // It is looked at later, or not at all if something else is wrong.
      this.turns.set(key, turn)
    }
    await until(`${this.name}: ${keys.join()} to be wanted`, async () => {
      const records = await Promise.all(keys.map((key) => this.holders.inspect(key)))
      return records.every((record) => record === null || record.wanted)
    })
  }

  /** Also what is kept is renewed meanwhile. */
  async during(failOver: Promise<void>): Promise<void> {
    let over = false
    const leases = this.kept.map(({ lease }) => lease)
    const renewing = renewThrough(leases, () => over)
    await failOver.finally(() => (over = true))
    await renewing
  }

  /** What is wrong, with a fail-over behind us. */
  async faults(): Promise<string[]> {
    const note = (right: boolean, what: string): void => void (right || this.#faults.push(what))
    for (const { lease } of this.kept) {
      const record = await this.holders.inspect(lease.key)
      note(lease.held, `${lease.key} was lost`)
      note(BigInt(record?.grant ?? 0) << 10n === lease.token, `${lease.key} is another's`)
    }
    for (const one of [...this.forgotten, ...this.short]) {
      await until(`${this.name}: word of ${one.lease.key}`, () => one.told)
      note(one.inTime, `${one.lease.key} was lost, and its holder told late`)
    }
    for (const [key, turn] of this.turns) {
      const start = performance.now()
      await this.kept.find(({ lease }) => lease.key === key)?.lease.release()
      const lease = await turn
      note(performance.now() - start < 1000, `nobody was woken for ${key}`)
      await lease.release()
    }
    return [...this.#faults, ...this.tokens.faults]
  }
}

async function pairs(): Promise<Pair[]> {
  const prefix = `p${(prefixes += 1)}`
  return Promise.all(sentinelClients(set).map((client) => Pair.of(client, `${prefix}-${client.name}`)))
}

it('G3 G7 the master is killed: what it had not passed on is lost in time, all else goes on', async () => {
  const old = await set.master()
  atEnd(async () => {
    await old.start()
    await set.settled()
  })
  const all = await pairs()
  await Promise.all(
    all.map(async (pair) => {
      await pair.hold('kept', 20)
      await pair.hold('short', 5)
      await pair.want('kept 0', 'kept 1', 'short 0', 'short 1')
    }),
  )
  await replicated(old, 2)
  await killUnheard(old, await set.replicas(), () =>
    Promise.all(
      all.map(async (pair) => {
        await pair.hold('forgotten', 5)
        await pair.want('forgotten 0')
      }),
    ),
  )
  for (const { kept, forgotten, short } of all)
    for (const one of [...kept, ...forgotten, ...short]) one.cutOff()
  const failOver = set.settled()
  await Promise.all(all.map((pair) => pair.during(failOver)))
  const faults = await Promise.all(all.map(async (pair) => [pair.name, await pair.faults()]))
  expect(faults).toEqual(all.map(({ name }) => [name, []]))
})

it('G3 G7 an orderly fail-over: nothing is lost', async () => {
  const all = await pairs()
  await Promise.all(
    all.map(async (pair) => {
      await pair.hold('kept', 20)
      await pair.want('kept 0', 'kept 1')
    }),
  )
  const old = await set.master()
  await replicated(old, 2)
  const failOver = async (): Promise<void> => {
    await set.sentinelServers[0]?.command('sentinel', 'failover', set.name)
    await until('another master', async () => (await set.master()) !== old)
    await set.settled()
  }
  const done = failOver()
  await Promise.all(all.map((pair) => pair.during(done)))
  const faults = await Promise.all(all.map(async (pair) => [pair.name, await pair.faults()]))
  expect(faults).toEqual(all.map(({ name }) => [name, []]))
})
