import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import type { Turn } from '../support/redis-child.ts'
import type { RedisStoreAddress } from '../support/redis-client.ts'
import {
  atLast,
  everyClient,
  locksOn,
  nameOf,
  recordOf,
  oneProcess,
  type RedisProcess,
  startProcesses,
  storeOn,
  until,
  waitersOf,
} from '../support/redis-stage.ts'

const COUNT = 20

const server = await startRedis()
atLast(() => server.stop())

// Starting them takes longer than all the tests.
const all = await startProcesses(COUNT)
atLast(() => Promise.all(all.map((one) => one.end())))

const address = (driver: RedisStoreAddress['driver']): RedisStoreAddress => ({
  urls: [server.url],
  driver,
  prefix: 'holdfast',
})

async function onAll<T>(work: (one: RedisProcess, index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(all.map(work))
}

type KeyTurn = Turn & { readonly key: string }

async function killingListeners<T>(work: Promise<T>): Promise<T> {
  let over = false
  const killing = async (): Promise<void> => {
    while (!over) {
      await server.command('client', 'kill', 'type', 'pubsub')
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 250))
    }
  }
  const killer = killing()
  try {
    return await work
  } finally {
    over = true
    await killer
  }
}

/** One after the other, with rising tokens, and none far behind the one before while somebody waited. */
function expectTurns(turns: readonly KeyTurn[]): void {
  const inOrder = turns.toSorted((a, b) => a.from - b.from)
  expect(inOrder.length).toBeGreaterThan(100)
  let longestMs = 0
  // Of this turn and all after it.
  let firstAsked = Infinity
  for (const [i, turn] of [...inOrder.entries()].reverse()) {
    firstAsked = Math.min(firstAsked, turn.asked)
    const before = inOrder[i - 1]
    if (!before) continue
    expect(turn.from).toBeGreaterThanOrEqual(before.to)
    expect(BigInt(turn.token)).toBeGreaterThan(BigInt(before.token))
    longestMs = Math.max(longestMs, turn.from - Math.max(before.to, firstAsked))
  }
  expect(longestMs).toBeLessThan(1000)
}

describe.each(everyClient)('20 processes, $name:', ({ driver }) => {
  it('G1 G3 add one to a number 1,000 times, in two commands each, and none is lost', async () => {
    const counter = `counter of ${driver}`
    await onAll((one) => one.call('start', address(driver)))
    const tokens = (await onAll((one) => one.call<string[]>('increment', server.url, counter, 50))).flat()
    expect(await server.command('get', counter)).toBe('1000')
    expect(new Set(tokens).size).toBe(1000)
    const stats = await onAll((one) => one.call<{ storeFailures: number }>('stats'))
    expect(stats.reduce((sum, { storeFailures }) => sum + storeFailures, 0)).toBe(0)
    await onAll((one) => one.call('close'))
    expect(await server.command('exists', nameOf(counter))).toBe(0)
  })

  it.each([false, true])(
    'G1 G3 G8 come, wait, give up and go: no key is left free while somebody waits for it (listeners killed: %s)',
    async (killed) => {
      // A poll so slow that a wake-up that is lost is seen.
      await onAll((one) => one.call('start', address(driver), { poll: { max: '20s' } }))
      const keys = ['a', 'b'].map((key) => `${key} of ${driver}, ${killed}`)
      const work = onAll((one) => one.call<KeyTurn[]>('compete', keys, 4000, 8))
      const turns = await (killed ? killingListeners(work) : work)
      for (const key of keys) expectTurns(turns.flat().filter((turn) => turn.key === key))
      await onAll((one) => one.call('close'))
      for (const key of keys) expect(await server.command('exists', nameOf(key))).toBe(0)
    },
  )
})

describe.each(everyClient)('a holder, $name:', ({ driver }) => {
  it('G3 that is killed: the next gets in within the lease and a second, with a higher token', async () => {
    const leaseMs = 1500
    const key = `killed, ${driver}`
    const doomed = await oneProcess()
    await doomed.call('start', address(driver), { service: 'doomed' })
    const token = await doomed.call<string>('acquire', key, { lease: leaseMs })
    const locks = locksOn(storeOn(server.url))
    const turn = locks.acquire(key, { wait: '30s' })
    await until('the waiter', async () => (await waitersOf(server, nameOf(key))).length > 0)
    await doomed.end()
    const start = performance.now()
    const lease = await turn
    expect(performance.now() - start).toBeLessThan(leaseMs + 1000)
    expect(lease.token).toBeGreaterThan(BigInt(token))
  })

  it('G1 G2 that is paused and comes back late learns that it lost, and does its successor no harm', async () => {
    const key = `paused, ${driver}`
    const late = await oneProcess()
    await late.call('start', address(driver))
    const token = await late.call<string>('acquire', key, { lease: 800 })
    late.signal('SIGSTOP')
    const locks = locksOn(storeOn(server.url))
    const next = await locks.acquire(key, { wait: '20s' })
    expect(next.token).toBeGreaterThan(BigInt(token))
    late.signal('SIGCONT')
    await until('the news', async () => !(await late.call('isHeld', key)))
    expect(await late.call('release', key)).toBe(false)
    await next.extend()
    expect(next.held).toBe(true)
    expect(await recordOf(server, nameOf(key))).toMatchObject({ grant: Number(next.token / 1024n) })
  })
})
