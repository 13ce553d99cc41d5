import { describe, expect, it, vi } from 'vitest'
import { LockError } from '../../src/errors.ts'
import type { Locks } from '../../src/locks.ts'
import { Random } from '../simulation/random.ts'
import { gate, track, world } from './support/world.ts'

const promiseJobs = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await Promise.resolve()
}

/** More than lie between two steps of one who takes several keys. */
const MOMENTS = Array.from({ length: 30 }, (_, i) => i)

describe('several keys, at any moment', () => {
  it('a signal is heard, also between two steps, when it waits in no line', async () => {
    for (const moment of MOMENTS) {
      const { time, locks, other } = world()
      const two = other()
      await two.acquire('a', { lease: '1h' })
      const stop = new AbortController()
      const pair = track(locks.acquire(['a', 'b'], { wait: Infinity, signal: stop.signal }))
      await locks.acquire('answered by the same call')
      await promiseJobs(moment)
      stop.abort()
      await time.advance(60_000)
      expect(pair, `after ${moment}`).toMatchObject({ settled: true, error: { code: 'LOCK_ABORTED' } })
      await Promise.all([locks.close(), two.close()])
    }
  })

  it.each(['held elsewhere', 'held here'])('G12 close ends it, and ends: %s', async (where) => {
    for (const moment of MOMENTS) {
      const { time, store, locks, other } = world()
      const two = other()
      const body = gate()
      const holder = where === 'held here' ? locks : two
      void holder.using('a', () => body.promise).catch(() => undefined)
      await time.settle()
      const reply = gate()
      store.mood.acquire = reply.promise
      const pair = track(locks.acquire(['a', 'b'], { wait: Infinity }))
      await time.settle()
      delete store.mood.acquire
      reply.open()
      await promiseJobs(moment)
      const closed = track(locks.close())
      await time.advance(100)
      body.open()
      await time.advance(1_000)
      expect(pair, `after ${moment}`).toMatchObject({ settled: true, error: { code: 'CLOSED' } })
      expect(closed, `after ${moment}`).toMatchObject({ settled: true })
      await two.close()
      expect(time.timers).toBe(0)
      expect(await store.heldKeys()).toEqual([])
    }
  })

  it('G7 ends with its wait, wherever on the way the process stands still', async () => {
    for (const moment of MOMENTS) {
      const { time, locks, other } = world()
      const two = other()
      await two.acquire('a', { lease: '1h' })
      const now = time.now.bind(time)
      let reads = 0
      vi.spyOn(time, 'now').mockImplementation(() => {
        const read = now()
        if (reads++ === moment) time.block(1_000)
        return read
      })
      const pair = track(locks.acquire(['a', 'b'], { wait: 1_000 }))
      await time.advance(5_000)
      expect(pair, `after ${moment}`).toMatchObject({ settled: true, error: expect.any(LockError) })
      await Promise.all([locks.close(), two.close()])
    }
  })

  it('tryAcquire finds keys that were given back to one who went away', async () => {
    const { locks, other } = world()
    const two = other()
    const lease = await locks.acquire('a')
    expect(await two.tryAcquire('a')).toBeNull()
    await lease.release()
    expect(await locks.tryAcquire(['a', 'b'])).not.toBeNull()
    await Promise.all([locks.close(), two.close()])
  })

  it('what is lost while the rest is tried is taken again', async () => {
    const { time, store, locks, other } = world({ lease: '3s' })
    const two = other()
    const taken = await two.acquire('a')
    const all = track(locks.using(['a', 'b'], () => 'ran', { wait: '30s' }))
    await time.settle()
    const reply = gate()
    await taken.release()
    store.mood.acquire = reply.promise
    await time.settle()
    await two.forceRelease('a')
    await time.advance(1_500)
    delete store.mood.acquire
    reply.open()
    await time.advance(5_000)
    expect(all).toMatchObject({ value: 'ran' })
    await Promise.all([locks.close(), two.close()])
  })

  it('a call that would wait for itself says so at once, although another key is taken', async () => {
    const { time, locks, other } = world()
    const two = other()
    await two.acquire('a', { lease: '1h' })
    const inside = track(locks.using('b', () => locks.acquire(['a', 'b'], { reentrant: false })))
    await time.settle()
    expect(inside.error).toMatchObject({ code: 'DEADLOCK' })
    await Promise.all([locks.close(), two.close()])
  })

  it('released after close it says what a lease on one key says', async () => {
    const { locks } = world()
    const lease = await locks.acquire(['a', 'b'])
    await locks.close()
    await expect(lease.release()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' })
  })
})

const KEYS = ['a', 'b', 'c', 'd']
const SEEDS = 200

/** Two clients that nest, abort, lose replies and are closed in the middle of it. */
async function play(seed: number): Promise<string[]> {
  const random = new Random(seed, 'several races')
  const { time, store, locks, other } = world({ lease: '3s' })
  const clients = [locks, other({ lease: '3s' })]
  const problems: string[] = []
  const inside = new Map<string, { readonly held: boolean }>()
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => void time.setTimer(ms, resolve))

  const job = async (client: Locks, depth: number): Promise<void> => {
    const keys = [random.pick(KEYS), ...KEYS.filter(() => random.chance(0.4))]
    const stop = new AbortController()
    const wait = random.chance(0.3) ? Infinity : random.integer(0, 3000)
    const options = { wait, signal: stop.signal, atLeast: random.chance(0.1) ? 100 : 0 }
    const work = client.using(keys, options, async (lease) => {
      if (depth === 0) {
        for (const key of lease.keys) {
          if (inside.get(key)?.held) problems.push(`two have ${key}`)
          inside.set(key, lease)
        }
      }
      await (random.chance(0.5) ? sleep(random.integer(0, 200)) : Promise.resolve())
      if (depth < 2 && random.chance(0.4)) await Promise.all([1, 2].map(() => job(client, depth + 1)))
      if (random.chance(0.1)) throw new LockError('STALE_TOKEN', 'its own')
    })
    if (random.chance(0.3)) void promiseJobs(random.integer(0, 12)).then(() => stop.abort())
    await work.catch((error: unknown) => {
      if (!(error instanceof LockError)) problems.push(String(error))
    })
  }

  const jobs: { settled: boolean }[] = []
  for (let i = 0; i < 25; i += 1) {
    if (random.chance(0.85)) jobs.push(track(job(random.pick(clients), 0)))
    else if (random.chance(0.5)) store.mood.acquire = random.pick(['lose reply', 'fail'])
    else {
      store.mood.acquire = 'work'
      store.mood.release = random.pick(['lose reply', 'work', 'work'])
      store.mood.renew = random.pick(['fail', 'work', 'work'])
    }
    await (random.chance(0.5) ? time.advance(random.integer(0, 500)) : promiseJobs(random.integer(0, 10)))
  }
  const closed = clients.map((client) => track(client.close()))
  await time.advance(60_000)
  if (jobs.some(({ settled }) => !settled)) problems.push('a call did not end')
  if (closed.some(({ settled }) => !settled)) problems.push('close did not end')
  if (time.timers > 0) problems.push(`${time.timers} timers are left`)
  return problems
}

it(`G1 G7 G12 ${SEEDS} random plays with nesting, aborts, lost replies and close: all ends, nothing is held twice`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) expect(await play(seed), `seed ${seed}`).toEqual([])
}, 20_000)
