import { type Span, SpanKind, SpanStatusCode, trace, type TracerProvider } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { instrument, type InstrumentOptions } from '../../src/otel/index.ts'
import { Sdk, useContexts } from './support/otel.ts'
import { track, world, type World } from './support/world.ts'

useContexts()

function stage(
  options: InstrumentOptions = {},
): World & { sdk: Sdk; named: (name: string) => ReadableSpan[] } {
  const made = world()
  const sdk = new Sdk()
  instrument(made.locks, { meterProvider: sdk.meterProvider, tracerProvider: sdk.tracerProvider, ...options })
  return { ...made, sdk, named: (name) => sdk.spans.filter((span) => span.name === name) }
}

describe('spans of a lock', () => {
  it('stand side by side under that of the caller, and those of the body inside of hold', async () => {
    const { locks, sdk, named } = stage()
    const tracer = sdk.tracerProvider.getTracer('app')
    let token = ''
    await tracer.startActiveSpan('request', async (request) => {
      await locks.using('k', async (lease) => {
        token = String(lease.token)
        await Promise.resolve()
        tracer.startSpan('work').end()
      })
      request.end()
    })
    const [[acquire], [hold], [work], [request]] = [
      named('holdfast acquire'),
      named('holdfast hold'),
      named('work'),
      named('request'),
    ]
    expect(acquire!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId)
    expect(hold!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId)
    expect(work!.parentSpanContext?.spanId).toBe(hold!.spanContext().spanId)
    expect(hold!.links.map(({ context }) => context.spanId)).toEqual([acquire!.spanContext().spanId])
    expect([acquire!.kind, hold!.kind]).toEqual([SpanKind.INTERNAL, SpanKind.INTERNAL])
    expect(acquire!.attributes).toEqual({
      'holdfast.store': 'trial',
      'holdfast.service': 'one',
      'holdfast.key.count': 1,
      'holdfast.outcome': 'granted',
    })
    expect(hold!.attributes).toEqual({
      'holdfast.store': 'trial',
      'holdfast.service': 'one',
      'holdfast.key.count': 1,
      'holdfast.token': token,
    })
    expect(hold!.status.code).toBe(SpanStatusCode.UNSET)
    await locks.close()
  })

  it('tell a wait that was over, a try that was denied and a store that is down', async () => {
    const { locks, other, store, named } = stage()
    await other().acquire('k')
    expect(await locks.tryAcquire('k')).toBeNull()
    const refused = locks.acquire('k', { wait: 0 })
    await expect(refused).rejects.toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    store.mood.acquire = 'fail'
    await expect(locks.acquire('k', { wait: 0 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const told = named('holdfast acquire').map(({ attributes, status }) => [
      attributes['holdfast.outcome'],
      attributes['error.type'],
      status.code,
    ])
    expect(told).toEqual([
      ['denied', undefined, SpanStatusCode.UNSET],
      ['timeout', 'LOCK_ACQUIRE_TIMEOUT', SpanStatusCode.ERROR],
      ['failed', 'STORE_UNAVAILABLE', SpanStatusCode.ERROR],
    ])
    store.mood.acquire = 'work'
    await locks.close()
  })

  it('show a loss as an event at its time and as the status, and nothing of it is left listening', async () => {
    const { time, locks, store, named } = stage()
    store.mood.renew = 'hang'
    const outcome = track(
      locks.using('k', { lease: '10s' }, async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      }),
    )
    await time.advance(20_000)
    expect(outcome.error).toMatchObject({ code: 'LOCK_LOST' })
    const [hold] = named('holdfast hold')
    expect(hold!.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['holdfast.lost', { 'error.type': 'LOCK_LOST' }],
    ])
    expect(hold!.attributes['error.type']).toBe('LOCK_LOST')
    expect(hold!.status.code).toBe(SpanStatusCode.ERROR)
    await locks.close()
  })

  it('show a loss that a blocked event loop could not tell of', async () => {
    const { time, locks, store, named } = stage()
    store.mood.renew = 'hang'
    const outcome = track(locks.using('k', { lease: '10s' }, async () => time.block(60_000)))
    await time.settle()
    expect(outcome.error).toMatchObject({ code: 'LOCK_LOST' })
    expect(named('holdfast hold')[0]!.events.map(({ name }) => name)).toEqual(['holdfast.lost'])
    await locks.close()
  })

  it("have the type of the body's own error, which the caller gets as it is", async () => {
    const { locks, named } = stage()
    const error = new RangeError('customer 4711 has no money')
    await expect(locks.using('k', async () => Promise.reject(error))).rejects.toBe(error)
    const [hold] = named('holdfast hold')
    expect([hold!.attributes['error.type'], hold!.status.code]).toEqual(['RangeError', SpanStatusCode.ERROR])
    await locks.close()
  })

  it('never name a key, in no attribute, event or message', async () => {
    const { time, locks, other, store, sdk } = stage()
    await other().acquire('customer:4711')
    await locks.acquire('customer:4711', { wait: 0 }).catch(() => {})
    store.mood.renew = 'fail'
    const lost = locks.using('customer:4712', { lease: '1s' }, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    const ended = lost.catch(() => {})
    await time.advance(5000)
    await ended
    expect(sdk.spans.length).toBeGreaterThan(2)
    const seen = sdk.spans.map(({ name, attributes, events, status }) => [name, attributes, events, status])
    expect(JSON.stringify(seen)).not.toContain('customer')
    await locks.close()
  })

  it('carry labels of keyLabel, and tokens of several keys in their order', async () => {
    const { locks, named } = stage({ keyLabel: (key) => key.replace(/\d+/, '*') })
    let tokens: string[] = []
    await locks.using(['b:2', 'a:1'], async (lease) => {
      tokens = lease.keys.map((key) => String(lease.tokenFor(key)))
    })
    await locks.using('a:1', async () => {})
    const [several, one] = named('holdfast hold')
    expect(several!.attributes).toMatchObject({
      'holdfast.keys': ['a:*', 'b:*'],
      'holdfast.tokens': tokens,
      'holdfast.key.count': 2,
    })
    expect(one!.attributes).toMatchObject({ 'holdfast.key': 'a:*' })
    await locks.close()
  })
})

describe('a tracer that breaks', () => {
  const broken = (how: (span: Span) => Span): TracerProvider => ({
    getTracer: () => {
      const tracer = new Sdk().tracerProvider.getTracer('x')
      return Object.assign(Object.create(tracer) as typeof tracer, {
        startSpan: (name: string) => how(tracer.startSpan(name)),
      })
    },
  })
  const run = async (locks: Locks): Promise<unknown> => locks.using('k', async (lease) => lease.held)

  it.each([
    [
      'at the start of a span',
      () => {
        throw new Error('broken')
      },
    ],
    [
      'at its end',
      (span: Span) =>
        Object.assign(span, {
          end: () => {
            throw new Error('broken')
          },
        }),
    ],
    [
      'at an attribute',
      (span: Span) =>
        Object.assign(span, {
          setAttribute: () => {
            throw new Error('broken')
          },
        }),
    ],
  ] as [string, (span: Span) => Span][])('%s breaks no lock', async (_, how) => {
    const { locks } = stage({ tracerProvider: broken(how) })
    const errors: string[] = []
    locks.on('error', ({ error }) => errors.push(error.message))
    expect(await run(locks)).toBe(true)
    expect(locks.stats()).toMatchObject({ granted: 1, released: 1, held: 0 })
    await locks.close()
    expect(errors.length).toBeGreaterThan(0)
  })

  it('at a loss breaks no process, and is told of', async () => {
    const addEvent = (): never => {
      throw new Error('broken')
    }
    const { time, locks } = stage({ tracerProvider: broken((span) => Object.assign(span, { addEvent })) })
    const errors: unknown[] = []
    locks.on('error', ({ error }) => errors.push((error.cause as Error | undefined)?.message))
    const body = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
    const outcome = track(locks.using('k', { lease: '1s', renew: false }, ({ signal }) => body(signal)))
    await time.advance(2000)
    expect(outcome.error).toMatchObject({ code: 'LOCK_LOST' })
    // Thrown by a listener of the signal it would come now, out of nowhere.
    await new Promise((resolve) => void setImmediate(resolve))
    expect(errors).toContain('broken')
    await locks.close()
  })

  it('is not there at all with the global API and no SDK', async () => {
    const { locks } = world()
    instrument(locks)
    expect(await locks.using('k', async () => trace.getActiveSpan()?.isRecording() ?? false)).toBe(false)
    await locks.close()
  })
})
