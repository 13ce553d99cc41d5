import { type MeterProvider, metrics, trace, type TracerProvider } from '@opentelemetry/api'
import type { Locks } from '../locks.ts'
import { checkClient, checkNames, invalid } from '../option-check.ts'
import { recordDurations } from './durations.ts'
import { KeyLabels } from './key-labels.ts'
import { Gauges } from './gauges.ts'
import { Spans } from './spans.ts'

export interface InstrumentOptions {
  /** Default: the global one, as it is now. Set your SDK up first. */
  readonly meterProvider?: MeterProvider | undefined
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined
  /**
   * Makes a key an attribute, which it is not otherwise: there may be millions of them. The first 100 different
   * results count, then it is `other`; `error` if it throws or gives no text.
   */
  readonly keyLabel?: ((key: string) => string) | undefined
}

const SCOPE = 'holdfast'

/**
 * Metrics and spans of this client for OpenTelemetry, from now on until the result is called, or the client is closed.
 * What the client has counted before is in the counters, and not in the histograms.
 */
export function instrument(locks: Locks, options: InstrumentOptions = {}): () => void {
  checkClient('instrument', locks)
  checkOptions(options)
  const { meterProvider = metrics.getMeterProvider(), tracerProvider = trace, keyLabel } = options
  const labels = keyLabel ? new KeyLabels(keyLabel) : null
  const meter = meterProvider.getMeter(SCOPE)
  const spans = new Spans(tracerProvider.getTracer(SCOPE), locks, labels)
  const gauges = Gauges.of(meterProvider, meter)
  if (gauges.has(locks)) throw invalid('instrument: this client is instrumented already; stop that first')
  const ends: (() => void)[] = []
  const stop = (): void => {
    for (const end of ends.splice(0)) end()
    gauges.delete(locks)
  }
  const detach = locks.attach(() => {
    const closed = (): void => {
      gauges.ended(locks)
      stop()
    }
    // Closing has just begun, and what is released on the way still counts. This is the promise of that very close.
    locks.close().then(closed, closed)
  })
  ends.push(detach)
  try {
    gauges.add(locks)
    ends.push(...recordDurations(locks, meter, labels), locks.trace(spans))
  } catch (error) {
    // A meter is foreign code: half of it is worse than none.
    stop()
    throw error
  }
  return stop
}

function checkOptions(options: InstrumentOptions): void {
  checkNames('instrument', options, ['meterProvider', 'tracerProvider', 'keyLabel'])
  const { meterProvider, tracerProvider, keyLabel } = options
  if (meterProvider !== undefined && typeof meterProvider?.getMeter !== 'function')
    throw invalid('instrument: meterProvider must be a MeterProvider of OpenTelemetry')
  if (tracerProvider !== undefined && typeof tracerProvider?.getTracer !== 'function')
    throw invalid('instrument: tracerProvider must be a TracerProvider of OpenTelemetry')
  if (keyLabel !== undefined && typeof keyLabel !== 'function')
    throw invalid('instrument: keyLabel must be a function that makes a short text of a key')
}
