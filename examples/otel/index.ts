/**
 * Locks in Prometheus and in traces: `npx tsx examples/otel/index.ts`, then look at http://127.0.0.1:9464/metrics while it works
 * for ten seconds. Spans go to the console, as there is no collector.
 */
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { setTimeout } from 'node:timers/promises'
import { createLocks } from '../../src/index.ts'
import { instrument } from '../../src/otel/index.ts'

const exporter = new PrometheusExporter({ host: '127.0.0.1', port: 9464 })
const meterProvider = new MeterProvider({ readers: [exporter] })
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
})
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const locks = createLocks('memory:', { service: 'shop' })
// `order:42` and all other orders are one label: keys are never one by themselves.
instrument(locks, { meterProvider, tracerProvider, keyLabel: (key) => key.split(':')[0] ?? 'none' })

const tracer = tracerProvider.getTracer('shop')
const until = performance.now() + Number(process.argv[2] ?? 10_000)

async function work(): Promise<void> {
  while (performance.now() < until) {
    await tracer.startActiveSpan('request', async (request) => {
      await locks.using(`order:${Math.floor(Math.random() * 5)}`, () => setTimeout(50 * Math.random()))
      request.end()
    })
  }
}

await Promise.all([work(), work(), work()])
await locks.close()
await meterProvider.shutdown()
await tracerProvider.shutdown()
