import type { Entry, Listed } from '../history.ts'
import { Evictions } from './evictions.ts'
import { type Span, union } from './span.ts'
import { StoreView } from './store-view.ts'

type Ask = Extract<Entry, { is: 'ask' }>
type Remains = Extract<Entry, { is: 'remains' }>
export type Written = Extract<Entry, { is: 'written' }>

/** One call of `acquire`, `tryAcquire` or `using`, and the lease that came of it. */
export interface Attempt {
  readonly by: string
  readonly id: number
  readonly how: Ask['how']
  readonly keys: readonly string[]
  readonly waitMs: number
  readonly leaseMs: number
  readonly askedAt: number
  grantedAt: number | null
  /** Of each key, in their order. */
  tokens: readonly bigint[]
  refused: { readonly at: number; readonly code: string } | null
  /** Each look at `held`. */
  readonly acts: {
    readonly at: number
    readonly key: string
    readonly token: string
    readonly held: boolean
  }[]
  lostAt: number | null
  releaseAt: number | null
  /** `ok`: it was held until then. */
  released: { readonly at: number; readonly ok: boolean; readonly code: string | null } | null
}

export interface Worker {
  readonly name: string
  /** When its event loop stood still. */
  readonly blocks: { from: number; to: number }[]
  /** When it tried to open its store. */
  readonly openings: number[]
  closingAt: number | null
  closedAt: number | null
  /** What kept it alive after that. */
  remains: Remains | null
  /** The last time that it wrote something down. */
  seenAt: number
  died: { readonly at: number; readonly code: string; readonly wanted: boolean } | null
}

export interface FaultSpan extends Span {
  readonly fault: string
  readonly target: string
  readonly loses: boolean
}

/** What the store said that it held. */
interface Look {
  readonly at: number
  readonly locks: readonly Listed[]
}

/** A history, put together: what belongs together stands together. */
export class Round {
  readonly attempts: Attempt[] = []
  readonly workers: Map<string, Worker> = new Map()
  readonly written: Written[] = []
  readonly faults: readonly FaultSpan[]
  /** Those on servers, or on the network of all: not on a single worker. */
  readonly sharedFaults: readonly FaultSpan[]
  /** When the store may have forgotten what it was told before their end. */
  readonly losses: readonly Span[]
  readonly store: StoreView = new StoreView()
  readonly evictions: Evictions = new Evictions()
  readonly listed: Look[] = []
  readonly left: Look[] = []
  readonly endAt: number
  calmAt: number = Infinity
  readonly #attempts = new Map<string, Attempt>()
  readonly #faults = new Map<number, { -readonly [K in keyof FaultSpan]: FaultSpan[K] }>()

  /** `entries` are in the order of time. */
  constructor(entries: readonly Entry[]) {
    for (const entry of entries) this.#take(entry)
    this.endAt = entries.at(-1)?.at ?? 0
    this.faults = [...this.#faults.values()]
    this.sharedFaults = this.faults.filter(({ target }) => !this.workers.has(target))
    this.evictions.settle(this.faults)
    this.losses = union(this.faults.filter(({ loses }) => loses))
  }

  attempt(by: string, id: number): Attempt | undefined {
    return this.#attempts.get(`${by} ${id}`)
  }

  /** By the nemesis: what it was about may have no end. */
  wasKilled({ died }: Worker): boolean {
    return died !== null && died.wanted && died.code === 'SIGKILL' && died.at < this.calmAt
  }

  /** Those that may have come between a worker and its store. */
  faultsOn(name: string): FaultSpan[] {
    return [...this.sharedFaults, ...this.faults.filter(({ target }) => target === name)]
  }

  /** When a worker did not run. What is shorter than 600 ms and was not ordered is not known. */
  stillness(name: string): Span[] {
    const stops = this.faults.filter(({ fault, target }) => target === name && fault === 'worker paused')
    return union([...(this.workers.get(name)?.blocks ?? []), ...stops])
  }

  #take(entry: Entry): void {
    const { at, by } = entry
    const worker = this.workers.get(by)
    if (worker) worker.seenAt = at
    switch (entry.is) {
      case 'born':
        return void this.#worker(by)
      case 'ask':
        return this.#ask(entry)
      case 'call':
      case 'reply':
      case 'failed':
        return this.store.take(entry)
      case 'written':
        return void this.written.push(entry)
      case 'fault':
        return this.#fault(entry)
      case 'evict':
        return this.evictions.take(entry)
      case 'opening':
        return void this.#worker(by).openings.push(at)
      case 'block':
        return void this.#worker(by).blocks.push({ from: at, to: Infinity })
      case 'unblock': {
        const block = this.#worker(by).blocks.at(-1)
        if (block) block.to = at
        return
      }
      case 'closing':
        this.#worker(by).closingAt = at
        return
      case 'closed':
        this.#worker(by).closedAt = at
        return
      case 'remains':
        this.#worker(by).remains = entry
        return
      case 'died':
        this.#worker(entry.worker).died = entry
        return
      case 'calm':
        this.calmAt = at
        return
      case 'listed':
        return void this.listed.push(entry)
      case 'left':
        return void this.left.push(entry)
      case 'note':
      case 'acted':
        return
      default:
        return this.#go(entry)
    }
  }

  /** What comes of an ask. */
  #go(entry: Extract<Entry, { is: 'granted' | 'refused' | 'act' | 'lost' | 'release' | 'released' }>): void {
    const { at, by, id } = entry
    const attempt = this.attempt(by, id)
    if (!attempt) throw new Error(`${by} has "${entry.is}" for ${id}, which it never asked for`)
    if (entry.is === 'granted') {
      attempt.grantedAt = at
      attempt.tokens = entry.tokens.map(BigInt)
    } else if (entry.is === 'refused') attempt.refused = entry
    else if (entry.is === 'act') attempt.acts.push(entry)
    else if (entry.is === 'lost') attempt.lostAt = at
    else if (entry.is === 'release') attempt.releaseAt = at
    else attempt.released = { at, ok: entry.ok === true, code: entry.code ?? null }
  }

  #ask({ at, by, id, how, keys, waitMs, leaseMs }: Ask): void {
    const attempt: Attempt = {
      ...{ by, id, how, keys, waitMs, leaseMs, askedAt: at, acts: [], tokens: [] },
      ...{ grantedAt: null, refused: null, lostAt: null, releaseAt: null, released: null },
    }
    this.attempts.push(attempt)
    this.#attempts.set(`${by} ${id}`, attempt)
  }

  #worker(name: string): Worker {
    let worker = this.workers.get(name)
    if (!worker) {
      worker = {
        ...{ name, blocks: [], openings: [], closingAt: null, closedAt: null, remains: null, died: null },
        seenAt: 0,
      }
      this.workers.set(name, worker)
    }
    return worker
  }

  #fault({ at, fault, target, phase, number, loses }: Extract<Entry, { is: 'fault' }>): void {
    const begun = this.#faults.get(number)
    if (begun && phase === 'end') begun.to = at
    else this.#faults.set(number, { from: at, to: Infinity, fault, target, loses })
  }
}
