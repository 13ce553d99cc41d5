import { describe, expect, it, vi } from 'vitest'
import { Changes, type Seen } from '../../src/server/changes.ts'
import { Feed } from '../../src/server/feed.ts'
import { History } from '../../src/server/history.ts'
import type { LockDetailJson, LockJson } from '../../src/server/index.ts'
import type { LockPage } from '../../src/store.ts'
import { dataOf, type Problem, serverStage } from './support/server-stage.ts'
import { VirtualTime } from './support/virtual-time.ts'

const LOCK: Omit<LockJson, 'key'> = {
  grant: 1,
  token: '1024',
  service: 's',
  instance: 'i',
  context: null,
  since: 0,
  heldMs: 0,
  leaseMs: 1,
  remainingMs: 1,
  wanted: false,
}

describe('a slow reader', () => {
  it('costs nothing but its place, is let go, and begins anew', async () => {
    const { locks, time, stream } = serverStage()
    const reader = await stream()
    const other = await stream()
    await time.settle()
    reader.take()
    reader.pause()
    const big = Array.from({ length: 300 }, (_, index) => `${'k'.repeat(150)}${index}`)
    for (let round = 0; round < 20; round += 1) {
      const lease = await locks.acquire(big)
      await time.advance(1000)
      await lease.release()
      await time.advance(1000)
    }
    reader.go()
    await time.settle()
    expect(reader.ended).toBe(true)
    // What it had in hand, and no more.
    expect(JSON.stringify(reader.take()).length).toBeLessThan(200_000)
    expect(other.ended).toBe(false)
    expect(JSON.stringify(other.take()).length).toBeGreaterThan(1_500_000)
    const again = await stream()
    await time.settle()
    expect(dataOf(again.take(), 'locks')[0]).toMatchObject({ all: true })
  })

  it('is cut off as soon as its place is gone, and told nothing out of order', async () => {
    const feed = new Feed(new VirtualTime(), '1')
    let ended = 0
    const { body } = feed.open(null, () => (ended += 1))
    feed.tell(() => [])
    const event = { name: 'taken', at: 0, key: 'k', text: 'x'.repeat(500) } as const
    for (let count = 0; count < 1010; count += 1) feed.publish('event', event)
    expect([ended, feed.size]).toEqual([0, 1])
    for (let count = 0; count < 40; count += 1) feed.publish('event', event)
    expect([ended, feed.size]).toEqual([1, 0])
    const numbers: number[] = []
    for await (const chunk of body) {
      const [, number] = /^id: .*\.(\d+)$/m.exec(Buffer.from(chunk).toString()) ?? []
      if (number) numbers.push(Number(number))
    }
    // The snapshot, and the first of the messages.
    expect(numbers).toEqual(Array.from(numbers, (_, index) => index))
    expect(numbers.length).toBeLessThan(40)
  })

  it('gets signs of life, and one that takes nothing is let go', async () => {
    const { locks, time, stream } = serverStage()
    const reader = await stream()
    await time.advance(45_000)
    expect(reader.beats).toBe(3)
    const stuck = await stream()
    await time.settle()
    stuck.pause()
    // More than is kept ready for it.
    await locks.acquire(Array.from({ length: 300 }, (_, index) => `${'k'.repeat(150)}${index}`))
    await time.advance(45_000)
    stuck.go()
    await time.settle()
    expect([stuck.ended, reader.ended]).toEqual([true, false])
  })
})

describe('streams', () => {
  it('are at most 1,000; the next gets 503 and when to try again', async () => {
    const { stream, ask } = serverStage()
    const readers = await Promise.all(Array.from({ length: 1000 }, () => stream()))
    const refused = await ask<Problem>('/api/events')
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'TOO_MANY_STREAMS',
      '10',
    ])
    await readers[0]!.leave()
    expect((await stream()).response.status).toBe(200)
  })

  it('all end with close(), and leave nothing', async () => {
    const { server, time, stream } = serverStage({ observe: 'always' })
    const readers = await Promise.all(Array.from({ length: 5 }, () => stream()))
    await time.settle()
    await server.close()
    await server.close()
    await time.settle()
    expect(readers.map(({ ended }) => ended)).toEqual([true, true, true, true, true])
    expect(time.timers).toBe(0)
  })
})

describe('the history of a key', () => {
  it('has its holders, newest first, and how each turn ended', async () => {
    const { locks, other, time, ask } = serverStage({ observe: 'always' })
    const first = await locks.acquire('a', { context: 'one' })
    await time.advance(1500)
    await first.release()
    await time.advance(1500)
    await other().acquire('a', { lease: '10m' })
    await time.advance(1500)
    await locks.forceRelease('a')
    const third = await locks.acquire('a')
    await time.advance(1500)
    const { body } = await ask<LockDetailJson>('/api/locks/a')
    expect(body.history).toMatchObject([
      { service: 'one', end: 'held', grant: Number(third.token / 1024n) },
      { service: 'two', end: 'forced' },
      { service: 'one', end: 'gone', context: 'one', grant: Number(first.token / 1024n) },
    ])
  })

  it('has no two holders at a time, and none past its lease, though nobody looked for an hour', () => {
    const [history, wall, now] = [new History(), Date.now(), 5000]
    const changes = new Changes(new Feed(new VirtualTime(), 'run'), history)
    const seen = (grant: number, since: number, until: number): Seen => {
      return { lock: { ...LOCK, key: `k${grant}`, grant, since }, until }
    }
    const both = (a: Seen, b: Seen): Map<string, Seen> =>
      new Map([
        ['a', named(a, 'a')],
        ['b', named(b, 'b')],
      ])
    const named = (each: Seen, key: string): Seen => ({ ...each, lock: { ...each.lock, key } })
    const before = changes.between(
      new Map(),
      both(seen(1, wall - 1000, now + 9000), seen(2, wall - 1000, now + 9000)),
      {
        isAll: true,
        now,
      },
    )
    const clock = vi.spyOn(Date, 'now').mockReturnValue(wall + 3_600_000)
    const after = new Map([['a', named(seen(3, wall + 4000, now + 3_610_000), 'a')]])
    changes.between(before, after, { isAll: true, now: now + 3_600_000 })
    clock.mockRestore()
    expect(history.of('a')).toMatchObject([{ end: 'held' }, { end: 'gone', heldMs: 5000 }])
    expect(history.of('b')).toMatchObject([{ end: 'gone', heldMs: 10_000 }])
  })

  it('is bounded over all keys: those that changed last are kept', () => {
    const history = new History()
    for (let index = 0; index < 30_000; index += 1) history.began({ ...LOCK, key: `k${index % 25_000}` })
    expect(history.count).toBeGreaterThanOrEqual(19_000)
    expect(history.count).toBeLessThanOrEqual(20_000)
    expect(history.of('k4999')).toHaveLength(1)
    expect(history.of('k5000')).toHaveLength(0)
  })

  it('is at most 20 turns long', async () => {
    const { locks, time, ask } = serverStage({ observe: 'always' })
    for (let turn = 0; turn < 25; turn += 1) {
      const lease = await locks.acquire('a')
      await time.advance(1000)
      await lease.release()
      await time.advance(1000)
    }
    expect((await ask<LockDetailJson>('/api/locks/a')).body.history).toHaveLength(20)
  })
})

describe('a store with more keys than are followed', () => {
  it('says so', async () => {
    const { store, time, stream, ask } = serverStage()
    const record = { grant: 1, holder: LOCK, since: 0, leaseMs: 1000, remainingMs: 1000, wanted: false }
    const list = async ({ after = '0' }): Promise<LockPage> => ({
      locks: Array.from({ length: 1000 }, (_, index) => ({ ...record, key: `k${Number(after) + index}` })),
      next: String(Number(after) + 1000),
    })
    Object.assign(store.inner, { list })
    const reader = await stream()
    await time.settle()
    expect(dataOf(reader.take(), 'locks').reduce((sum, { held }) => sum + held.length, 0)).toBe(20_000)
    expect((await ask('/api/stats')).body).toMatchObject({
      server: { limited: 'only 20000 held keys are followed, and there are more' },
    })
  })

  it('takes no key for free that is only out of sight, until its lease has run out', () => {
    const changes = new Changes(new Feed(new VirtualTime(), '1'), new History())
    const seen = (from: number, to: number): Map<string, Seen> =>
      new Map(
        Array.from({ length: to - from }, (_, index) => {
          const lock = { ...LOCK, key: `k${from + index}` }
          return [lock.key, { lock, until: 1000 }]
        }),
      )
    const before = changes.between(new Map(), seen(0, 20_000), { isAll: false, now: 0 })
    const later = changes.between(before, seen(5, 20_005), { isAll: false, now: 500 })
    expect([later.size, later.has('k0'), later.has('k20000')]).toEqual([20_000, true, false])
    const last = changes.between(later, seen(5, 20_005), { isAll: false, now: 1500 })
    expect([last.size, last.has('k0'), last.has('k20000')]).toEqual([20_000, false, true])
    expect(changes.between(last, seen(0, 3), { isAll: true, now: 1600 }).size).toBe(3)
  })
})
