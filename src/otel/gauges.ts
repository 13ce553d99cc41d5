import type { BatchObservableResult, Meter, MeterProvider, Observable } from '@opentelemetry/api'
import type { Locks } from '../locks.ts'
import { type NumberInstrument, NUMBERS } from '../monitor/instruments.ts'

/** A program that makes clients of ever new names is followed that far. */
const MOST_ENDED = 100

interface Series {
  readonly instrument: NumberInstrument
  readonly attributes: Readonly<Record<string, string>>
  value: number
}

const ofProviders = new WeakMap<MeterProvider, Gauges>()

/**
 * Counters and gauges, read from the clients when a reader collects. One for all clients of a provider: of two that
 * observe the same attributes only one would be seen, so these are added up.
 */
export class Gauges {
  readonly #meter: Meter
  readonly #observables: ReadonlyMap<NumberInstrument, Observable>
  readonly #clients = new Set<Locks>()
  /** Counters of clients that are closed: a reader that comes last still finds them, and a sum never falls. */
  readonly #ended = new Map<string, Series[]>()
  readonly #observe = (result: BatchObservableResult): void => this.#observeAll(result)

  private constructor(meter: Meter) {
    this.#meter = meter
    this.#observables = new Map(NUMBERS.map((instrument) => [instrument, observableOf(meter, instrument)]))
  }

  static of(provider: MeterProvider, meter: Meter): Gauges {
    const known = ofProviders.get(provider)
    if (known) return known
    const gauges = new Gauges(meter)
    ofProviders.set(provider, gauges)
    return gauges
  }

  has(locks: Locks): boolean {
    return this.#clients.has(locks)
  }

  add(locks: Locks): void {
    if (this.#clients.size === 0)
      this.#meter.addBatchObservableCallback(this.#observe, [...this.#observables.values()])
    this.#clients.add(locks)
  }

  /** Keeps what a closed client has counted. */
  ended(locks: Locks): void {
    if (!this.#clients.delete(locks)) return
    const name = nameOf(locks)
    const sums = new Map<string, Series>()
    for (const series of [...(this.#ended.get(name) ?? []), ...seriesOf(locks)])
      if (series.instrument.kind === 'counter') addTo(sums, series)
    this.#ended.delete(name)
    this.#ended.set(name, [...sums.values()])
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > MOST_ENDED && oldest !== undefined) this.#ended.delete(oldest)
  }

  /** Takes it away, unless another has the same attributes: then their sum must not fall. */
  delete(locks: Locks): void {
    if (!this.#clients.has(locks)) return
    const name = nameOf(locks)
    const isAlone = [...this.#clients].every((other) => other === locks || nameOf(other) !== name)
    if (!isAlone) return this.ended(locks)
    this.#clients.delete(locks)
    this.#ended.delete(name)
    if (this.#clients.size === 0 && this.#ended.size === 0)
      this.#meter.removeBatchObservableCallback(this.#observe, [...this.#observables.values()])
  }

  #observeAll(result: BatchObservableResult): void {
    const sums = new Map<string, Series>()
    for (const series of [...this.#ended.values()].flat()) addTo(sums, series)
    for (const locks of this.#clients) for (const series of seriesOf(locks)) addTo(sums, series)
    for (const { instrument, attributes, value } of sums.values())
      result.observe(this.#observables.get(instrument)!, value, attributes)
  }
}

function nameOf({ identity: { store, service } }: Locks): string {
  return JSON.stringify([store, service])
}

function seriesOf(locks: Locks): Series[] {
  const stats = locks.stats()
  const { store, service } = locks.identity
  return NUMBERS.flatMap((instrument) =>
    instrument.read(stats).map(({ attributes, value }) => ({
      instrument,
      attributes: { store, service, ...attributes },
      value,
    })),
  )
}

function addTo(sums: Map<string, Series>, { instrument, attributes, value }: Series): void {
  const name = JSON.stringify([instrument.name, attributes])
  const sum = sums.get(name)
  if (sum) sum.value += value
  else sums.set(name, { instrument, attributes, value })
}

function observableOf(meter: Meter, { kind, name, unit, description }: NumberInstrument): Observable {
  return kind === 'counter'
    ? meter.createObservableCounter(name, { unit, description })
    : meter.createObservableUpDownCounter(name, { unit, description })
}
