import { expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { redisStore, type RedisStoreOptions } from '../../src/stores/redis/index.ts'
import type { RedisServer } from '../servers/redis.ts'
import { startSentinel } from '../servers/redis-sentinel.ts'
import { atEnd, atLast, failureOf, heldOn, locksOn, until } from '../support/stage.ts'
import { replicated, sentinelClients, Tokens } from '../support/redis-sets.ts'
import { Told } from '../support/told.ts'

const set = await startSentinel()
atLast(() => set.stop())
const clients = sentinelClients(set)
let prefixes = 0

interface User {
  readonly name: string
  readonly prefix: string
  readonly locks: Locks
  readonly tokens: Tokens
}

/** One of each kind, each on keys of its own. */
async function users(options: RedisStoreOptions = {}): Promise<User[]> {
  prefixes += 1
  return Promise.all(
    clients.map(async ({ name, open }) => {
      const prefix = `p${prefixes}-${name}`
      const locks = locksOn(redisStore(await open(), { prefix, ...options }))
      const tokens = new Tokens()
      tokens.watch(locks)
      return { name, prefix, locks, tokens }
    }),
  )
}

it('G3 G7 a master that refuses to write because it follows another is left for the next one', async () => {
  const all = await users()
  const leases = await Promise.all(all.map(({ locks }) => locks.acquire('key', { lease: '20s' })))
  const old = await set.master()
  const [next, third] = (await set.replicas()) as [RedisServer, RedisServer]
  // So that it is `next`, which the old one follows already: no sentinel has to tell it, or to cut its connections.
  await set.prioritize(third, 0)
  atEnd(() => third.command('config', 'set', 'replica-priority', 100))
  await replicated(old, 2)
  await old.command('replicaof', next.host, next.port)
  for (const { name, locks } of all) {
    const error = await failureOf(locks.tryAcquire('other'))
    expect([name, error.code, error.message]).toEqual([
      name,
      'STORE_UNAVAILABLE',
      expect.stringMatching(/the server is a replica; connect to the master.*READONLY/),
    ])
  }
  await until('the next master', async () => (await set.master()) === next)
  const start = performance.now()
  await Promise.all(
    all.map(async ({ name, locks, tokens }, index) => {
      await until(`${name} to work again`, () => locks.tryAcquire('another').catch(() => null))
      expect([name, performance.now() - start < 5000]).toEqual([name, true])
      expect([name, leases[index]?.held, 'held']).toEqual([name, true, 'held'])
      expect([name, await leases[index]?.release()]).toEqual([name, true])
      await locks.acquire('key')
      expect([name, ...tokens.faults]).toEqual([name])
    }),
  )
  await set.settled()
})

it('G3 an old master that comes back empty and takes writes for a moment: tokens rise all the same', async () => {
  const old = await set.master()
  const all = await users()
  const leases = await Promise.all(all.map(({ locks }) => locks.acquire('key', { lease: '20s' })))
  await replicated(old, 2)
  await old.kill()
  await set.settled()
  // Else they might tell it to follow before anyone has come to it.
  await Promise.all(set.sentinelServers.map((sentinel) => sentinel.pause()))
  atEnd(() => set.sentinelServers.forEach((sentinel) => sentinel.resume()))
  await old.start()
  const astray = await Promise.all(
    all.map(async ({ prefix, tokens }) => {
      const locks = locksOn(redisStore(old.url, { prefix }))
      tokens.watch(locks)
      return new Told(await locks.acquire('key', { lease: 3000, wait: 0 }), 3000)
    }),
  )
  set.sentinelServers.forEach((sentinel) => sentinel.resume())
  // As it is told to follow, all its connections are cut: also one that asks.
  const roleOf = async (): Promise<string> => String(await old.command('role').catch(() => undefined))
  await until('the end of it', async () => (await roleOf()).startsWith('slave'))
  for (const one of astray) one.cutOff()
  await set.settled()
  await Promise.all(
    all.map(async ({ name, locks, tokens }, index) => {
      // Who asks the sentinels was never led there.
      const grant = (await locks.inspect('key'))?.grant ?? 0
      expect([name, leases[index]?.held, BigInt(grant) << 10n]).toEqual([name, true, leases[index]?.token])
      await until(`${name} astray to be told`, () => astray[index]?.told)
      expect([name, astray[index]?.inTime]).toEqual([name, true])
      await leases[index]?.release()
      await locks.acquire('key')
      expect([name, ...tokens.faults]).toEqual([name])
    }),
  )
})

it('G7 with `replicas: 1`, a fail-over forgets nothing that was granted, whichever replica had it', async () => {
  const all = await users({ replicas: 1 })
  const keys = Array.from({ length: 50 }, (_, index) => `key ${index}`)
  await Promise.all(all.map(({ locks }) => locks.tryAcquire('warm')))
  const old = await set.master()
  const [late] = (await set.replicas()) as [RedisServer]
  atEnd(async () => {
    late.resume()
    await late.command('config', 'set', 'replica-priority', 100)
    await old.start()
    await set.settled()
  })
  // Else they may promote it: what they know of it, its last report, looks as good as that of the other.
  await set.prioritize(late, 0)
  await late.pause()
  await old.command('client', 'kill', 'type', 'replica')
  const leases = await Promise.all(
    all.flatMap(({ locks }) => keys.map((key) => locks.acquire(key, { lease: '40s', wait: '30s' }))),
  )
  await old.kill()
  await until('another master', async () => (await set.master()) !== old)
  late.resume()
  await set.settled()
  expect(await set.master()).not.toBe(late)
  for (const [index, { name, locks }] of all.entries()) {
    const mine = leases.slice(index * keys.length, (index + 1) * keys.length)
    const records = await heldOn(locks, 'key ')
    const known = new Map(records.map(({ key, grant }) => [key, BigInt(grant) << 10n]))
    expect([name, known]).toEqual([name, new Map(mine.map(({ key, token }) => [key, token]))])
    expect([name, mine.filter(({ held }) => !held)]).toEqual([name, []])
  }
})

it('G7 with `replicas: 1` and no replica that answers, a grant is undone, and callers and holders are told', async () => {
  const all = await users({ replicas: 1 })
  const held = await Promise.all(
    all.map(async ({ locks }) => new Told(await locks.acquire('held', { lease: 2000 }), 2000)),
  )
  const replicas = await set.replicas()
  const master = await set.master()
  atEnd(() => set.settled())
  atEnd(() => replicas.forEach((replica) => replica.resume()))
  await Promise.all(replicas.map((replica) => replica.pause()))
  for (const one of held) one.cutOff()
  await Promise.all(
    all.map(async ({ name, prefix, locks }, index) => {
      const error = await failureOf(locks.tryAcquire('key'))
      expect([name, error.code, error.message]).toEqual([
        name,
        'STORE_UNAVAILABLE',
        expect.stringMatching(/0 of 1 replicas had it in time/),
      ])
      const others = locksOn(redisStore(master.url, { prefix }))
      await until(`${name}: the grant to be undone`, async () => (await others.inspect('key')) === null)
      expect([name, (await others.tryAcquire('key'))?.held]).toEqual([name, true])
      // Nor does one go on who cannot know that others heard of it.
      await until(`${name} to be told`, () => held[index]?.told)
      expect([name, held[index]?.inTime]).toEqual([name, true])
    }),
  )
  replicas.forEach((replica) => replica.resume())
  await set.settled()
  for (const { name, locks } of all)
    await until(`${name} to work again`, () => locks.tryAcquire('next').catch(() => null))
})
