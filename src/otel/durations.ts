import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import type { Locks } from '../locks.ts'
import {
  ACQUIRE_DURATION,
  CALL_DURATION,
  HOLD_DURATION,
  type HistogramInstrument,
  STEPS,
} from '../monitor/instruments.ts'
import type { KeyLabels } from './key-labels.ts'

/** The histograms: OpenTelemetry has none that could be read from a snapshot, so these are told each value. */
export function recordDurations(locks: Locks, meter: Meter, labels: KeyLabels | null): (() => void)[] {
  const [acquire, hold, call] = [ACQUIRE_DURATION, HOLD_DURATION, CALL_DURATION].map((instrument) =>
    histogramOf(meter, instrument),
  ) as [Histogram, Histogram, Histogram]
  const attributes = (more: Attributes): Attributes => {
    const { store, service } = locks.identity
    return { store, service, ...more }
  }
  const ofKey = (key: string): Attributes => attributes(labels ? { key: labels.of(key) } : {})
  const steps: ReadonlySet<string> = new Set(STEPS)
  return [
    locks.on('granted', ({ key, waitedMs }) => acquire.record(waitedMs / 1000, ofKey(key))),
    locks.on('released', ({ key, heldMs }) => hold.record(heldMs / 1000, ofKey(key))),
    locks.on('lost', ({ key, heldMs }) => hold.record(heldMs / 1000, ofKey(key))),
    locks.on('store-call', ({ step, tookMs, error }) => {
      if (error === null && steps.has(step)) call.record(tookMs / 1000, attributes({ step }))
    }),
  ]
}

function histogramOf(meter: Meter, { name, unit, description, bounds }: HistogramInstrument): Histogram {
  const advice = { explicitBucketBoundaries: [...bounds] }
  return meter.createHistogram(name, { unit, description, advice })
}
