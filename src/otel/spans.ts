import {
  type Attributes,
  context,
  isSpanContextValid,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import { LockError } from '../errors.ts'
import type { Keys } from '../key.ts'
import type { Lease } from '../lease.ts'
import type { Locks } from '../locks.ts'
import type { Tracing } from '../monitor/tracing.ts'
import type { KeyLabels } from './key-labels.ts'

/** Of several keys. */
const MOST_SHOWN = 20

/**
 * Two spans for a lock, side by side under that of the caller: the wait, and the body. Messages of errors are never
 * written into them, since they name the key: `error.type` is the code.
 */
export class Spans implements Tracing {
  readonly #tracer: Tracer
  readonly #locks: Locks
  readonly #labels: KeyLabels | null
  readonly #acquired = new WeakMap<object, SpanContext>()

  constructor(tracer: Tracer, locks: Locks, labels: KeyLabels | null) {
    this.#tracer = tracer
    this.#locks = locks
    this.#labels = labels
  }

  acquiring<T>(keys: Keys, run: () => Promise<T>): Promise<T> {
    const span = this.#start('holdfast acquire', typeof keys === 'string' ? [keys] : keys, [])
    if (isNothing(span)) return run()
    return inside(span, run, {
      done: (outcome) => {
        if (outcome !== null) this.#acquired.set(outcome as object, span.spanContext())
        span.setAttribute('holdfast.outcome', outcome === null ? 'denied' : 'granted')
      },
      failed: (error) => span.setAttribute('holdfast.outcome', outcomeOf(error)),
    })
  }

  holding<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
    const acquired = this.#acquired.get(lease)
    const span = this.#start('holdfast hold', lease.keys, acquired ? [{ context: acquired }] : [])
    if (isNothing(span)) return run()
    if (!span.isRecording()) return inside(span, run, {})
    span.setAttributes(listed('holdfast.token', lease.keys, (key) => String(lease.tokenFor(key))))
    const failures: unknown[] = []
    const lost = (): void => {
      try {
        const type = typeOf(lease.signal.reason)
        span.addEvent(type === 'LOCK_LOST' ? 'holdfast.lost' : 'holdfast.aborted', { 'error.type': type })
        if (type === 'LOCK_LOST') fail(span, type)
      } catch (error) {
        // Thrown by a listener of a signal, it would end the process.
        failures.push(error)
      }
    }
    const { signal } = lease
    if (signal.aborted) lost()
    else signal.addEventListener('abort', lost, { once: true })
    // A loss that nobody could tell of yet, as the body never let a timer run, is seen by whoever asks.
    const over = (): void => {
      void lease.held
      signal.removeEventListener('abort', lost)
      if (failures.length > 0) throw failures[0]
    }
    return inside(span, run, { done: over, failed: over })
  }

  #start(name: string, keys: readonly string[], links: Link[]): Span {
    const { store, service } = this.#locks.identity
    const attributes: Attributes = {
      'holdfast.store': store,
      'holdfast.service': service,
      'holdfast.key.count': keys.length,
    }
    const labels = this.#labels
    if (labels)
      Object.assign(
        attributes,
        listed('holdfast.key', keys, (key) => labels.of(key)),
      )
    return this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes, links })
  }
}

/** There is no SDK, and so no trace either that spans of the body would have to belong to. */
function isNothing(span: Span): boolean {
  return !isSpanContextValid(span.spanContext())
}

interface Ends {
  readonly done?: (result: unknown) => void
  readonly failed?: (error: unknown) => void
}

async function inside<T>(span: Span, run: () => Promise<T>, { done, failed }: Ends): Promise<T> {
  try {
    const result = await context.with(trace.setSpan(context.active(), span), run)
    done?.(result)
    return result
  } catch (error) {
    failed?.(error)
    fail(span, typeOf(error))
    throw error
  } finally {
    span.end()
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

function typeOf(error: unknown): string {
  if (error instanceof LockError) return error.code
  const name: unknown = error instanceof Error ? error.name : null
  return typeof name === 'string' && name.length <= 100 ? name : '_OTHER'
}

function outcomeOf(error: unknown): string {
  if (!(error instanceof LockError)) return 'failed'
  if (error.code === 'LOCK_ACQUIRE_TIMEOUT') return 'timeout'
  return error.code === 'LOCK_ABORTED' || error.code === 'CLOSED' ? 'aborted' : 'failed'
}

/** `holdfast.key` of one, `holdfast.keys` of several. */
function listed(name: string, keys: readonly string[], show: (key: string) => string): Attributes {
  const shown = keys.slice(0, MOST_SHOWN).map(show)
  return keys.length === 1 ? { [name]: shown[0] } : { [`${name}s`]: shown }
}
