import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from 'vitest'
import type { Alert } from '../../src/alerts/alert.ts'
import type { LockEvent } from '../../src/index.ts'
import { gate, track, world } from './support/world.ts'

const undo: (() => void)[] = []
afterEach(() => undo.splice(0).forEach((each) => each()))

type Message = Record<string, unknown> & { client: { service: string } }

function listen(event: LockEvent, listener: (message: Message) => void): () => void {
  const heard = (message: unknown): void => listener(message as Message)
  subscribe(`holdfast:${event}`, heard)
  const stop = (): void => void unsubscribe(`holdfast:${event}`, heard)
  undo.push(stop)
  return stop
}

const ALERT: Alert = {
  kind: 'held-too-long',
  state: 'on',
  incident: 'i',
  key: 'k',
  value: 9,
  limit: 5,
  message: '"k" has been held for 9 s',
  lastedMs: 0,
}

describe('diagnostics channels', () => {
  it('publish each event with the client it is from', async () => {
    const { locks, other } = world()
    const two = other()
    const seen: unknown[] = []
    for (const event of ['granted', 'released', 'conflict'] as const)
      listen(event, ({ client, key }) => seen.push([event, client, key]))
    const lease = await locks.acquire('k')
    await two.tryAcquire('k')
    await lease.release()
    const [one, other2] = ['one', 'two'].map((name) => ({
      store: locks.identity.store,
      service: name,
      instance: name,
    }))
    expect(seen).toEqual([
      ['granted', one, 'k'],
      ['conflict', other2, 'k'],
      ['released', one, 'k'],
    ])
    await Promise.all([locks.close(), two.close()])
  })

  it('are heard beside listeners, and not after they were left', async () => {
    const { locks } = world()
    const seen: string[] = []
    locks.on('granted', () => seen.push('listener'))
    const stop = listen('granted', () => seen.push('channel'))
    await locks.using('k', () => {})
    stop()
    await locks.using('k', () => {})
    expect(seen).toEqual(['listener', 'channel', 'listener'])
    await locks.close()
  })

  it('are outside of every section: what they start does not enter its key', async () => {
    const { time, locks } = world({ wait: 0 })
    let inner: { error?: unknown } = {}
    const stop = listen('released', () => {
      stop()
      inner = track(locks.using('outer', () => {}))
    })
    await locks.using('outer', async () => {
      await (await locks.acquire('other')).release()
      await time.settle()
      expect(inner.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    })
    await locks.close()
  })
})

describe('the event store-call', () => {
  it('tells the step, its keys, its time and its error', async () => {
    const { store, locks } = world()
    await locks.using('opens the store', () => {})
    const seen: unknown[] = []
    locks.on('store-call', ({ step, keys, error }) => seen.push([step, keys, error?.code ?? null]))
    const leases = await Promise.all(['a', 'b'].map((key) => locks.acquire(key)))
    await locks.list()
    await locks.forceRelease('a')
    await leases[1]?.release()
    store.mood.acquire = 'fail'
    await locks.tryAcquire('c').catch(() => {})
    expect(seen).toEqual([
      ['acquire', 2, null],
      ['list', 1, null],
      ['evict', 1, null],
      ['release', 1, null],
      ['acquire', 1, 'STORE_UNAVAILABLE'],
    ])
    await locks.close()
  })

  it('has the whole time of a call that ran past its limit', async () => {
    const { time, store, locks } = world({ callTimeout: '1s' })
    await locks.using('opens the store', () => {})
    const took: number[] = []
    locks.on('store-call', ({ tookMs }) => took.push(tookMs))
    store.mood.acquire = 'hang'
    void track(locks.tryAcquire('k'))
    await time.advance(1_000)
    expect(took).toEqual([1_000])
    await locks.close()
  })
})

describe('the time of a store-call', () => {
  it('is that of the call alone, and not that of opening the store before it', async () => {
    const { time, store, locks } = world()
    const took: [number, string | null][] = []
    locks.on('store-call', ({ tookMs, error }) => took.push([tookMs, error?.code ?? null]))
    const slow = gate()
    store.mood.open = slow.promise
    const lease = track(locks.acquire('k'))
    await time.advance(500)
    slow.open()
    await time.settle()
    expect(lease.value).toBeDefined()
    expect(took).toEqual([[0, null]])
    expect(locks.stats().storeLatency.maxMs).toBe(0)
    await locks.close()
  })

  it('is that of the attempt if it failed before it was sent', async () => {
    const { time, store, locks } = world({ callTimeout: '1s' })
    const took: [number, string | null][] = []
    locks.on('store-call', ({ tookMs, error }) => took.push([tookMs, error?.code ?? null]))
    store.mood.open = 'hang'
    void track(locks.tryAcquire('k'))
    await time.advance(1_000)
    expect(took).toEqual([[1_000, 'STORE_UNAVAILABLE']])
    store.mood.open = 'work'
    await locks.close()
  })
})

describe('an alert', () => {
  it('is an event, a line in the log and a message on its channel', async () => {
    const lines: string[] = []
    const logger = {
      warn: (line: string) => lines.push(`warn ${line}`),
      info: (line: string) => lines.push(`info ${line}`),
    }
    const { locks } = world({ logger: logger as never })
    const seen: unknown[] = []
    locks.on('alert', (alert) => seen.push(alert))
    listen('alert', ({ client, ...alert }) => seen.push(client.service, alert))
    locks.alert(ALERT)
    locks.alert({ ...ALERT, state: 'over', message: 'it is over', lastedMs: 5 })
    expect(seen).toHaveLength(6)
    expect(seen.slice(0, 3)).toEqual([ALERT, 'one', ALERT])
    expect(lines).toEqual(['warn holdfast: "k" has been held for 9 s', 'info holdfast: it is over'])
    await locks.close()
  })
})
