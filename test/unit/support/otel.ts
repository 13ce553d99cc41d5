import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll } from 'vitest'

/** A real SDK, as far as it goes without a network. */
export class Sdk {
  readonly #metrics = new PrometheusExporter({ preventServerStart: true })
  readonly #spans = new InMemorySpanExporter()
  readonly meterProvider: MeterProvider = new MeterProvider({ readers: [this.#metrics] })
  readonly tracerProvider: BasicTracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#spans)],
  })

  /** What Prometheus would read. */
  async scrape(): Promise<string> {
    const { resourceMetrics, errors } = await this.#metrics.collect()
    if (errors.length > 0) throw errors[0]
    return new PrometheusSerializer('', false, undefined, true, true).serialize(resourceMetrics)
  }

  /** The values by name and labels, in the order of the labels' names. */
  async values(): Promise<Map<string, number>> {
    return valuesOf(await this.scrape())
  }

  get spans(): readonly ReadableSpan[] {
    return this.#spans.getFinishedSpans()
  }
}

export function valuesOf(text: string): Map<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(parse),
  )
}

/** `name{a="1",b="2"} 3` */
function parse(line: string): [series: string, value: number] {
  const [, name = '', labels = '', value] = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const sorted = [...labels.matchAll(/\w+="(?:[^"\\]|\\.)*"/g)].map(([label]) => label).sort()
  return [`${name}{${sorted.join(',')}}`, Number(value === '+Inf' ? Infinity : value)]
}

/** For the tests of one file. */
export function useContexts(): void {
  const manager = new AsyncLocalStorageContextManager()
  beforeAll(() => {
    context.setGlobalContextManager(manager.enable())
  })
  afterAll(() => {
    context.disable()
  })
}
