import { setTimeout as rest } from 'node:timers/promises'
import type { Instance } from './instance.ts'
import type { ServiceName } from './messages.ts'

export interface TrafficOptions {
  /** Who takes requests now. */
  readonly instances: () => readonly Instance[]
  readonly codes: readonly string[]
  /** How many clients send one request after the other. */
  readonly concurrency: number
  /** Between two requests of a client. */
  readonly restMs: number
  /** Of a hundred orders, so many are batches of business. */
  readonly batchPercent: number
}

export interface Tally {
  readonly byStatus: Map<number, number>
  readonly byService: Record<ServiceName, number>
  /** Of those that were answered 200. */
  readonly latencies: number[]
  /** Nobody answered: the instance was killed, or is paused. */
  unanswered: number
}

const REQUEST_LIMIT_MS = 15_000
/** Latencies kept for percentiles; past that, a fair sample of all. */
const SAMPLES = 100_000

/** Clients of both services that never tire, until they are told to. */
export class Traffic {
  readonly tally: Tally = {
    byStatus: new Map(),
    byService: { business: 0, storage: 0 },
    latencies: [],
    unanswered: 0,
  }
  readonly #options: TrafficOptions
  readonly #end = new AbortController()
  #clients: Promise<void>[] = []
  #answered = 0

  constructor(options: TrafficOptions) {
    this.#options = options
  }

  start(): void {
    this.#clients = Array.from({ length: this.#options.concurrency }, (_, i) => this.#client(i))
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await Promise.all(this.#clients)
  }

  async #client(number: number): Promise<void> {
    const { instances, restMs } = this.#options
    // Not all at once, and the services in turn.
    for (let turn = number; !this.#end.signal.aborted; turn += 1) {
      const services = instances()
      const instance = services[turn % Math.max(1, services.length)]
      if (instance) await this.#order(instance)
      if (restMs > 0 || !instance) await rest(instance ? restMs * (0.5 + Math.random()) : 50)
    }
  }

  async #order(instance: Instance): Promise<void> {
    const [path, body] = this.#request(instance.service)
    const start = performance.now()
    try {
      const response = await fetch(`${instance.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
      })
      await response.arrayBuffer()
      this.#note(instance.service, response.status, performance.now() - start)
    } catch {
      this.tally.unanswered += 1
      await rest(20)
    }
  }

  #request(service: ServiceName): [path: string, body: object] {
    const one = { commodityCode: this.#anyCode(), count: 1 }
    if (service === 'storage') return ['/deduct', one]
    if (Math.random() * 100 >= this.#options.batchPercent) return ['/direct-deduct', one]
    const codes = [...new Set([this.#anyCode(), this.#anyCode(), this.#anyCode()])]
    const operations = codes.map((commodityCode) => ({ commodityCode, count: 1, operationType: 'DEDUCT' }))
    return ['/batch', { operations }]
  }

  #anyCode(): string {
    const { codes } = this.#options
    return codes[Math.floor(Math.random() * codes.length)] as string
  }

  #note(service: ServiceName, status: number, tookMs: number): void {
    const { byStatus, byService, latencies } = this.tally
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    if (status !== 200) return
    byService[service] += 1
    this.#answered += 1
    if (latencies.length < SAMPLES) latencies.push(tookMs)
    else {
      const place = Math.floor(Math.random() * this.#answered)
      if (place < SAMPLES) latencies[place] = tookMs
    }
  }
}
