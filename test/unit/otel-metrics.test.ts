import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { instrument } from '../../src/otel/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { Sdk } from './support/otel.ts'
import { world } from './support/world.ts'

const GRANTED = 'holdfast_acquisitions_total{outcome="granted",service="one",store="trial"}'
const HELD = 'holdfast_lock_count{service="one",state="held",store="trial"}'
const WAITS = 'holdfast_acquire_duration_count{service="one",store="trial"}'

describe('metrics of a client', () => {
  it('are read when a reader collects, and cost nothing before that', async () => {
    const { locks } = world()
    const sdk = new Sdk()
    let reads = 0
    const { stats } = locks
    locks.stats = () => {
      reads += 1
      return stats.call(locks)
    }
    instrument(locks, sdk)
    for (let i = 0; i < 10; i += 1) await locks.using(`k${i}`, async () => {})
    expect(reads).toBe(0)
    const lease = await locks.acquire('k')
    const values = await sdk.values()
    expect(reads).toBe(1)
    expect([values.get(GRANTED), values.get(HELD), values.get(WAITS)]).toEqual([11, 1, 11])
    await lease.release()
    expect((await sdk.values()).get(HELD)).toBe(0)
    await locks.close()
  })

  it('have waits and holds in seconds, in the bucket where they belong', async () => {
    const { time, locks } = world()
    const sdk = new Sdk()
    instrument(locks, sdk)
    const lease = await locks.acquire('k')
    const waiting = locks.acquire('k')
    await time.advance(1500)
    await lease.release()
    await (await waiting).release()
    const values = await sdk.values()
    expect(values.get('holdfast_hold_duration_sum{service="one",store="trial"}')).toBe(1.5)
    expect(values.get('holdfast_acquire_duration_sum{service="one",store="trial"}')).toBe(1.5)
    expect(values.get('holdfast_acquire_duration_bucket{le="1",service="one",store="trial"}')).toBe(1)
    expect(values.get('holdfast_acquire_duration_bucket{le="2",service="one",store="trial"}')).toBe(2)
    await locks.close()
  })

  it('of two clients with the same names are added up, and the sum never falls', async () => {
    const { locks, other } = world()
    const twin = other({ service: 'one', instance: 'twin' })
    const sdk = new Sdk()
    instrument(locks, sdk)
    const stop = instrument(twin, sdk)
    await locks.using('a', async () => {})
    await twin.using('b', async () => {})
    await twin.acquire('c')
    expect((await sdk.values()).get(GRANTED)).toBe(3)
    expect((await sdk.values()).get(HELD)).toBe(1)
    stop()
    expect((await sdk.values()).get(GRANTED)).toBe(3)
    expect((await sdk.values()).get(HELD)).toBe(0)
    await Promise.all([locks.close(), twin.close()])
  })

  it('stay as they were when the client is closed, for the last export of a short program', async () => {
    const { time, locks } = world()
    const sdk = new Sdk()
    instrument(locks, sdk)
    await locks.acquire('k')
    await locks.close()
    await time.settle()
    const values = await sdk.values()
    expect(values.get(GRANTED)).toBe(1)
    expect(values.get('holdfast_holds_total{end="released",service="one",store="trial"}')).toBe(1)
    expect(values.has(HELD)).toBe(false)
  })

  it('are gone when they are stopped, with every listener and tracer, and may begin again', async () => {
    const { locks } = world()
    const sdk = new Sdk()
    const stop = instrument(locks, sdk)
    await locks.using('k', async () => {})
    stop()
    stop()
    const [spans, listeners] = [sdk.spans.length, await sdk.scrape()]
    await locks.using('k', async () => {})
    expect(sdk.spans).toHaveLength(spans)
    expect(listeners).not.toContain('holdfast_acquisitions_total{')
    expect((await sdk.values()).get(WAITS)).toBe(1)
    instrument(locks, sdk)
    await locks.using('k', async () => {})
    expect((await sdk.values()).get(GRANTED)).toBe(3)
    expect((await sdk.values()).get(WAITS)).toBe(2)
    await locks.close()
  })

  it('are kept of a bounded number of closed clients', async () => {
    const sdk = new Sdk()
    for (let i = 0; i < 150; i += 1) {
      const locks = createLocks(memoryStore(), { service: `s${i}`, logger: null })
      instrument(locks, sdk)
      await locks.close()
      await Promise.resolve()
    }
    const names = [...(await sdk.values()).keys()].filter((name) =>
      name.startsWith('holdfast_requests_total'),
    )
    expect(names).toHaveLength(100)
    expect(names).toContain('holdfast_requests_total{service="s149",store="memory"}')
  })
})

describe('a key', () => {
  it('is in no metric without keyLabel', async () => {
    const { locks } = world()
    const sdk = new Sdk()
    instrument(locks, sdk)
    await locks.using('customer:4711', async () => {})
    await locks.tryAcquire('customer:4711')
    expect(await sdk.scrape()).not.toContain('customer')
    await locks.close()
  })

  it('becomes a label through keyLabel, at most 100 of them and then other', async () => {
    const { locks } = world()
    const sdk = new Sdk()
    instrument(locks, { meterProvider: sdk.meterProvider, keyLabel: (key) => key })
    for (let i = 0; i < 130; i += 1) await locks.using(`k${i}`, async () => {})
    const values = await sdk.values()
    const labels = [...values].filter(([name]) => name.startsWith('holdfast_hold_duration_count'))
    expect(labels).toHaveLength(101)
    expect(values.get('holdfast_hold_duration_count{key="k99",service="one",store="trial"}')).toBe(1)
    expect(values.get('holdfast_hold_duration_count{key="other",service="one",store="trial"}')).toBe(30)
    await locks.close()
  })

  it('whose label cannot be made counts as error, and is locked all the same', async () => {
    const { locks } = world()
    const sdk = new Sdk()
    const bad = [
      () => {
        throw new Error('no')
      },
      () => 5,
      () => Promise.reject(new Error('later')),
    ]
    const keyLabel = (key: string): string => bad[Number(key)]!() as unknown as string
    instrument(locks, { meterProvider: sdk.meterProvider, keyLabel })
    for (const key of ['0', '1', '2']) expect(await locks.using(key, async () => 'ran')).toBe('ran')
    const name = 'holdfast_acquire_duration_count{key="error",service="one",store="trial"}'
    expect((await sdk.values()).get(name)).toBe(3)
    await locks.close()
  })
})

describe('instrument refuses', () => {
  it('what is no provider, no function, or unknown', async () => {
    const { locks } = world()
    for (const options of [{ meterProvider: 5 }, { tracerProvider: {} }, { keyLabel: 'x' }, { label: 1 }])
      expect(() => instrument(locks, options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION' }),
      )
    await locks.close()
    expect(() => instrument(locks)).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  it('a client that the same provider has already, and leaves that one as it is', async () => {
    const { locks } = world()
    const sdk = new Sdk()
    instrument(locks, sdk)
    expect(() => instrument(locks, sdk)).toThrow(/already/)
    instrument(locks, new Sdk())
    await locks.using('k', async () => {})
    expect((await sdk.values()).get(WAITS)).toBe(1)
    await locks.close()
  })

  it.each(['createObservableCounter', 'addBatchObservableCallback', 'createHistogram'])(
    'nothing by halves: a meter that throws in %s leaves the client as it was',
    async (method) => {
      const { time, locks } = world()
      const meter = new Sdk().meterProvider.getMeter('x')
      const broken = (): never => {
        throw new Error('broken')
      }
      const meterProvider = {
        getMeter: () => Object.assign(Object.create(meter) as typeof meter, { [method]: broken }),
      }
      expect(() => instrument(locks, { meterProvider })).toThrow('broken')
      const sdk = new Sdk()
      instrument(locks, sdk)
      await locks.using('k', async () => {})
      expect((await sdk.values()).get(WAITS)).toBe(1)
      // A rejection that nobody handles would fail this test.
      await locks.close()
      await new Promise((resolve) => void setImmediate(resolve))
      expect(time.timers).toBe(0)
    },
  )

  it('nothing without an SDK: it then does nothing', async () => {
    const { time, locks } = world()
    const stop = instrument(locks)
    expect(await locks.using('k', async () => 1)).toBe(1)
    stop()
    await locks.close()
    expect(time.timers).toBe(0)
  })
})
