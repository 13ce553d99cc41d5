import { describe, expect, it } from 'vitest'
import { dataOf, serverStage } from './support/server-stage.ts'

const keys = (locks: readonly { key: string }[]): string[] => locks.map(({ key }) => key)

describe('an event stream', () => {
  it('begins with all that is held, and goes on with what changes', async () => {
    const { locks, other, time, stream } = serverStage()
    const first = await locks.acquire('a', { context: 'why' })
    const reader = await stream()
    await time.settle()
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(reader.take()).toMatchObject([
      { event: 'hello', data: { version: expect.any(String) } },
      { event: 'locks', data: { all: true, held: [{ key: 'a', context: 'why' }], freed: [], renewed: [] } },
    ])
    await other().acquire('b')
    await first.release()
    await time.advance(1000)
    const messages = reader.take()
    expect(dataOf(messages, 'locks')).toMatchObject([
      { all: false, held: [{ key: 'b', service: 'two' }], freed: [{ key: 'a' }], renewed: [] },
    ])
    expect(dataOf(messages, 'event')).toMatchObject([
      { name: 'freed', key: 'a', text: 'no longer held by one one' },
      { name: 'taken', key: 'b', text: 'taken by two two' },
    ])
    for (const { id } of messages) expect(id).toMatch(/^.+\.\d+$/)
    await time.advance(3000)
    expect(reader.take()).toEqual([])
  })

  it('tells of a renewal, of a grant that was raised, and that a key is wanted', async () => {
    const { locks, other, time, stream } = serverStage()
    await locks.acquire('a', { lease: '9s' })
    await locks.acquire('b', { lease: '30s', rotateToken: '2s' })
    const reader = await stream()
    await time.settle()
    reader.take()
    await time.advance(3000)
    const messages = reader.take()
    expect(dataOf(messages, 'locks').flatMap(({ renewed }) => renewed)).toContainEqual([
      'a',
      expect.any(Number),
    ])
    expect(dataOf(messages, 'locks').flatMap(({ held }) => keys(held))).toContain('b')
    // Still the same holder.
    expect(dataOf(messages, 'event')).toEqual([])
    other()
      .acquire('a', { wait: '1m' })
      .catch(() => {})
    await time.advance(1000)
    expect(dataOf(reader.take(), 'locks').flatMap(({ held }) => held)).toContainEqual(
      expect.objectContaining({ key: 'a', wanted: true }),
    )
  })

  it('resumes after a cut without a gap', async () => {
    const { locks, time, stream } = serverStage({ observe: 'always' })
    const before = await stream()
    await time.settle()
    await locks.acquire('a')
    await time.advance(1000)
    const { id } = before.take().at(-1)!
    await before.leave()
    await locks.acquire('b')
    await time.advance(1000)
    await locks.acquire('c')
    await time.advance(1000)
    const after = await stream({ headers: { 'last-event-id': id } })
    await time.settle()
    const messages = after.take()
    expect(dataOf(messages, 'hello')).toEqual([])
    expect(dataOf(messages, 'locks').map(({ held }) => keys(held))).toEqual([['b'], ['c']])
  })

  it('resumes also if nobody has watched meanwhile', async () => {
    const { locks, time, stream } = serverStage()
    const before = await stream()
    await time.settle()
    const { id } = before.take().at(-1)!
    await before.leave()
    await locks.acquire('b')
    await time.advance(60_000)
    const after = await stream({ headers: { 'last-event-id': id } })
    await time.settle()
    expect(dataOf(after.take(), 'locks')).toMatchObject([{ all: false, held: [{ key: 'b' }] }])
  })

  it.each(['', 'x', 'another-life.3', '.', '.1', `${'x'.repeat(1000)}.1`, 'NOW.99999', 'NOW.-1'])(
    'begins anew with an id that means nothing here: %j',
    async (given) => {
      const { time, stream } = serverStage()
      const first = await stream()
      await time.settle()
      const life = first.take().at(-1)!.id!.split('.')[0]!
      const reader = await stream({ headers: { 'last-event-id': given.replace('NOW', life) } })
      await time.settle()
      expect(reader.take()).toMatchObject([{ event: 'hello' }, { event: 'locks', data: { all: true } }])
    },
  )

  it('begins anew if more has happened than is kept', async () => {
    const { locks, time, stream } = serverStage({ observe: 'always' })
    const before = await stream()
    await time.settle()
    const { id } = before.take().at(-1)!
    await before.leave()
    for (let round = 0; round < 30; round += 1) {
      const lease = await locks.acquire(Array.from({ length: 20 }, (_, index) => `k${index}`))
      await time.advance(1000)
      await lease.release()
      await time.advance(1000)
    }
    const after = await stream({ headers: { 'last-event-id': id } })
    await time.settle()
    expect(after.take()[0]).toMatchObject({ event: 'hello' })
  })

  it('is looked at the store for once, however many read', async () => {
    const { store, time, stream } = serverStage()
    const readers = await Promise.all(Array.from({ length: 100 }, () => stream()))
    await time.advance(10_000)
    expect(store.count('list')).toBeLessThanOrEqual(11)
    for (const reader of readers) expect(reader.take()).toHaveLength(2)
    for (const reader of readers) await reader.leave()
    const looks = store.count('list')
    await time.advance(60_000)
    expect(store.count('list')).toBe(looks)
    expect(time.timers).toBe(0)
  })

  it('is looked at the store for no more often because readers come and go', async () => {
    const { locks, store, time, stream } = serverStage()
    for (let index = 0; index < 50; index += 1) {
      const reader = await stream()
      await time.advance(50)
      await reader.leave()
    }
    expect(store.count('list')).toBeLessThanOrEqual(3)
    // A look that hangs is not repeated by those who come meanwhile, and they get what it finds.
    await time.advance(1000)
    const looks = store.count('list')
    store.mood.list = new Promise<void>((resolve) => void time.setTimer(300, resolve))
    await locks.acquire('a')
    for (let index = 0; index < 10; index += 1) await (await stream()).leave()
    const last = await stream()
    await time.advance(300)
    expect(store.count('list')).toBe(looks + 1)
    expect(dataOf(last.take(), 'locks')).toMatchObject([{ all: true, held: [{ key: 'a' }] }])
    await last.leave()
    await time.advance(60_000)
    expect(store.count('list')).toBe(looks + 1)
  })

  it('spends at most a tenth of the time on looking', async () => {
    const { store, time, stream } = serverStage()
    await stream()
    await time.settle()
    store.mood.list = new Promise<void>((resolve) => void time.setTimer(2000, resolve))
    await time.advance(1000)
    expect(store.count('list')).toBe(2)
    // That one took a second.
    await time.advance(10_900)
    expect(store.count('list')).toBe(2)
    await time.advance(200)
    expect(store.count('list')).toBe(3)
  })

  it('says that the store is down, keeps what was known, and goes on when it is back', async () => {
    const { locks, store, time, stream } = serverStage()
    await locks.acquire('a', { lease: '10m' })
    const reader = await stream()
    await time.settle()
    reader.take()
    store.mood.list = 'fail'
    await time.advance(5000)
    const down = reader.take()
    expect(down).toMatchObject([
      { event: 'event', data: { name: 'error' } },
      { event: 'store', data: { ok: false, error: 'the trial store failed' } },
    ])
    const late = await stream()
    await time.settle()
    expect(late.take()).toMatchObject([
      { event: 'hello' },
      { event: 'store', data: { ok: false } },
      { event: 'locks', data: { all: true, held: [{ key: 'a' }] } },
    ])
    store.mood.list = 'work'
    await time.advance(2000)
    expect(reader.take()).toMatchObject([{ event: 'store', data: { ok: true, error: null } }])
  })

  it('tells a first reader that the store is down, and what is held as soon as it is back', async () => {
    const { store, time, stream } = serverStage()
    store.mood.list = 'fail'
    const reader = await stream()
    await time.settle()
    expect(reader.take()).toMatchObject([{ event: 'hello' }, { event: 'store', data: { ok: false } }])
    store.mood.list = 'work'
    await time.advance(2000)
    expect(dataOf(reader.take(), 'locks')).toMatchObject([{ all: true, held: [] }])
  })

  it('passes on what this process reports, and no more than 20 of a kind in a second', async () => {
    const { locks, other, time, stream } = serverStage()
    const two = other()
    await two.acquire('a', { lease: '1h' })
    const reader = await stream()
    await time.settle()
    reader.take()
    for (let index = 0; index < 100; index += 1) await locks.acquire('a', { wait: 0 }).catch(() => {})
    await time.settle()
    const told = dataOf(reader.take(), 'event')
    expect(told).toHaveLength(20)
    expect(told[0]).toMatchObject({ name: 'timeout', key: 'a', text: 'given up after 0 ms; held by two two' })
    // A storm of one kind leaves room for the others.
    const alert = { kind: 'lost', incident: 'x', key: null, value: 1, limit: 1, lastedMs: 0 } as const
    locks.alert({ ...alert, state: 'over', message: 'over after 3 s: 1 leases were lost' })
    await time.settle()
    expect(dataOf(reader.take(), 'event')).toMatchObject([
      { name: 'alert', text: 'over after 3 s: 1 leases were lost' },
    ])
  })

  it('sums a storm up', async () => {
    const { locks, time, stream } = serverStage()
    const reader = await stream()
    await time.settle()
    reader.take()
    await locks.acquire(Array.from({ length: 500 }, (_, index) => `k${index}`))
    await time.advance(1000)
    const messages = reader.take()
    expect(dataOf(messages, 'locks')[0].held).toHaveLength(500)
    expect(dataOf(messages, 'event')).toHaveLength(21)
    expect(dataOf(messages, 'event').at(-1)).toMatchObject({ key: null, text: 'and 480 more keys' })
  })

  it('keeps hostile keys and contexts on one line, and cuts what is long', async () => {
    const { locks, time, stream } = serverStage()
    const context = '\n\nevent: locks\ndata: {}\r\r\u2028' + 'x'.repeat(4000)
    await locks.acquire('<img onerror=x>\u2028', { context })
    const reader = await stream()
    await time.settle()
    const [lock] = dataOf(reader.take(), 'locks')[0].held
    expect(lock.key).toBe('<img onerror=x>\u2028')
    expect(lock.context).toBe(`${context.slice(0, 256)}…`)
  })

  it('is a page of 500 at a time if much is held, and only the last has an id', async () => {
    const { locks, time, stream } = serverStage()
    for (let from = 0; from < 1100; from += 1000)
      await locks.acquire(
        Array.from({ length: Math.min(1000, 1100 - from) }, (_, index) => `k${from + index}`),
      )
    const reader = await stream()
    await time.settle()
    const [, ...pages] = reader.take()
    expect(pages.map(({ data, id }) => [data.all, data.held.length, id !== null])).toEqual([
      [true, 500, false],
      [false, 500, false],
      [false, 100, true],
    ])
  })
})
