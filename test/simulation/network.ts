import type { Claim, Fault, LockPage, LockRecord, Store, Watch } from '../../src/store.ts'
import type { Fact } from './facts.ts'
import { Random } from './random.ts'
import type { NetworkPlan, Schedule } from './schedule.ts'
import { Server } from './server.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { World } from './world.ts'

export type StepName = 'open' | 'acquire' | 'renew' | 'release' | 'list' | 'evict'

export interface CallItem extends Claim {
  readonly leaseMs?: number
  readonly rotate?: boolean
}

/** One store call of one process, as the network sees it. */
export interface Call {
  readonly number: number
  readonly process: number
  readonly step: StepName
  readonly items: readonly CallItem[]
  /** True time, and what the clock of the process showed then. */
  readonly sentAt: number
  readonly sentClock: number
  /** When the step began in which it was sent: its time limit may count from there. */
  readonly begunAt: number
  ended: boolean
}

interface Pending {
  readonly call: Call
  readonly fail: (error: Error) => void
}

/** Carries calls, answers and pushes between processes and the server, as badly as the plan says. */
export class Network {
  readonly server: Server
  readonly #world: World
  readonly #plan: NetworkPlan
  readonly #calmAt: number
  readonly #note: (fact: Fact) => void
  readonly #seed: number
  readonly #cuts = new Map<number, 'there' | 'back' | 'both'>()
  readonly #pending = new Set<Pending>()
  readonly #lines = new Map<number, Line>()
  #calls = 0

  constructor(world: World, schedule: Schedule, note: (fact: Fact) => void) {
    this.#world = world
    this.#plan = schedule.network
    this.#calmAt = schedule.calmAt
    this.#seed = schedule.seed
    this.#note = note
    this.server = new Server(world, schedule.server, note, (process, key) => this.#push(process, key))
  }

  /** The store as this process sees it. */
  connect(process: SimulatedProcess, push: boolean): Store {
    const line = new Line(process, new Random(this.#seed, `network ${process.index}`))
    this.#lines.set(process.index, line)
    const { store } = this.server
    const remote: Store = {
      name: 'model',
      open: async () => void (await this.#send(line, 'open', [], () => [])),
      acquire: (asks) =>
        this.#send(line, 'acquire', asks, (call) => asks.map((ask) => store.acquire(ask, call.number))),
      renew: (renewals) =>
        this.#send(line, 'renew', renewals, () => renewals.map((renewal) => store.renew(renewal))),
      release: (claims) =>
        this.#send(line, 'release', claims, () => claims.map((claim) => store.release(claim))),
      list: async (query) => (await this.#send(line, 'list', [], () => [store.list(query)]))[0] as LockPage,
      evict: async (key, grant) => {
        const answers = await this.#send(line, 'evict', [{ key, owner: '' }], () => [store.evict(key, grant)])
        return answers[0] as LockRecord | null
      },
      close: async () => {},
    }
    if (push) remote.watch = (onFreed) => this.#watch(line, onFreed)
    return remote
  }

  watchesOf(process: number): number {
    return this.#lines.get(process)?.watches.size ?? 0
  }

  cut(process: number, way: 'there' | 'back' | 'both'): void {
    this.#cuts.set(process, way)
  }

  mend(process: number): void {
    this.#cuts.delete(process)
  }

  /** Breaks every connection. Unless `silent`, pending calls fail, as on a reset. */
  breakConnections(silent: boolean): void {
    this.server.restart()
    for (const { call, fail } of silent ? [] : [...this.#pending]) {
      const line = this.#lines.get(call.process)
      if (line) this.#deliver(line, 0, () => fail(new Error('read ECONNRESET')))
    }
    for (const line of this.#lines.values()) {
      // Nobody tells a client of a half-open connection; it finds out by itself, much later.
      const delay = line.random.between(0, silent ? 3000 : 200)
      this.#world.at(this.#world.time + delay, null, () => this.#resubscribe(line))
    }
  }

  #send<T>(
    line: Line,
    step: StepName,
    items: readonly CallItem[],
    execute: (call: Call) => readonly T[],
  ): Promise<readonly (T | Fault)[]> {
    const { process, random } = line
    const sentAt = process.time
    const call: Call = {
      number: ++this.#calls,
      process: process.index,
      step,
      items: items.map((item) => ({ ...item })),
      sentAt,
      sentClock: process.clockAt(sentAt),
      begunAt: this.#world.time,
      ended: false,
    }
    this.#note({ is: 'sent', call })
    return new Promise((resolve, reject) => {
      const end = (finish: () => void): void => {
        if (call.ended) return
        call.ended = true
        this.#pending.delete(pending)
        finish()
      }
      const fail = (error: Error): void =>
        end(() => {
          this.#note({ is: 'failed', call, error })
          reject(error)
        })
      const answer = (answers: readonly (T | Fault)[]): void =>
        end(() => {
          this.#note({ is: 'answered', call, answers })
          resolve(answers)
        })
      const pending = { call, fail }
      this.#pending.add(pending)

      const copies = this.#is(random, this.#plan.double) ? 2 : 1
      for (let copy = 0; copy < copies; copy++) {
        const { epoch } = this.server
        if (this.#loses(line, 'there')) {
          this.#note({ is: 'lost-there', call })
          continue
        }
        const repeat = copy === 0 ? 0 : random.between(0, 5000)
        this.#world.at(sentAt + this.#latency(random) + repeat, null, () => {
          if (epoch !== this.server.epoch) return
          this.server.receive({
            serve: () => {
              this.#note({ is: 'arrived', call, copy })
              this.#reply(line, call, this.#withFaults(random, items, execute, call), answer, fail)
            },
            refuse: () => this.#deliver(line, 0, () => fail(new Error('connect ECONNREFUSED'))),
          })
        })
      }
    })
  }

  #reply<T>(
    line: Line,
    call: Call,
    answers: readonly (T | Fault)[],
    answer: (answers: readonly (T | Fault)[]) => void,
    fail: (error: Error) => void,
  ): void {
    if (this.#loses(line, 'back')) {
      this.#note({ is: 'lost-back', call })
      return
    }
    const reset = this.#is(line.random, this.#plan.reset)
    this.#deliver(line, this.#latency(line.random), () =>
      reset ? fail(new Error('read ECONNRESET')) : answer(answers),
    )
  }

  // An item that answers with a fault may have been executed all the same: the outcome is unknown.
  #withFaults<T>(
    random: Random,
    items: readonly CallItem[],
    execute: (call: Call) => readonly T[],
    call: Call,
  ): readonly (T | Fault)[] {
    const answers = execute(call)
    if (items.length === 0) return answers
    return answers.map((each) =>
      this.#is(random, this.#plan.itemFault) ? { error: new Error('CLUSTERDOWN one node is down') } : each,
    )
  }

  #watch(line: Line, onFreed: (key: string) => void): Watch {
    const watch = { keys: new Set<string>(), onFreed }
    line.watches.add(watch)
    return {
      add: (key) => {
        if (watch.keys.has(key)) return
        watch.keys.add(key)
        this.#world.at(line.process.time + this.#latency(line.random), null, () => {
          if (!line.watches.has(watch) || !watch.keys.has(key)) return
          this.#subscribe(line, key)
        })
      },
      delete: (key) => {
        watch.keys.delete(key)
        this.server.subscriptions.get(line.process.index)?.delete(key)
      },
      close: async () => {
        line.watches.delete(watch)
        this.server.subscriptions.delete(line.process.index)
      },
    }
  }

  #subscribe(line: Line, key: string): void {
    const { subscriptions } = this.server
    const keys = subscriptions.get(line.process.index) ?? new Set()
    subscriptions.set(line.process.index, keys.add(key))
    // What was freed before the subscription counted was missed.
    this.#push(line.process.index, key)
  }

  #resubscribe(line: Line): void {
    for (const watch of line.watches) {
      for (const key of watch.keys) this.#subscribe(line, key)
    }
  }

  #push(process: number, key: string): void {
    const line = this.#lines.get(process)
    if (!line) return
    if (this.#loses(line, 'back') || this.#is(line.random, this.#plan.pushLoss)) {
      this.#note({ is: 'push-lost', process, key })
      return
    }
    const times = this.#is(line.random, this.#plan.double) ? 2 : 1
    for (let time = 0; time < times; time++) this.#notify(line, key)
    if (this.#is(line.random, this.#plan.pushSpurious)) this.#notify(line, key, line.random.between(0, 2000))
  }

  #notify(line: Line, key: string, extraMs = 0): void {
    this.#deliver(line, this.#latency(line.random) + extraMs, () => {
      this.#note({ is: 'pushed', process: line.process.index, key })
      // A push may also come for a key that is no longer watched.
      for (const watch of line.watches) watch.onFreed(key)
    })
  }

  #deliver(line: Line, delayMs: number, run: () => void): void {
    const { epoch } = this.server
    this.#world.at(this.#world.time + delayMs, line.process, () => {
      if (delayMs === 0 || epoch === this.server.epoch) run()
    })
  }

  #loses({ process, random }: Line, way: 'there' | 'back'): boolean {
    const cut = this.#cuts.get(process.index)
    return cut === 'both' || cut === way || this.#is(random, this.#plan.loss)
  }

  #latency(random: Random): number {
    const [least, most] = this.#plan.latencyMs
    const latency = random.between(least, most) * this.server.latencyFactor
    return this.#is(random, this.#plan.late) ? latency + random.between(50, 6000) : latency
  }

  #is(random: Random, chance: number): boolean {
    return this.#world.time < this.#calmAt && random.chance(chance)
  }
}

/** One process's side of the network. */
class Line {
  readonly process: SimulatedProcess
  readonly random: Random
  readonly watches: Set<{ readonly keys: Set<string>; readonly onFreed: (key: string) => void }> = new Set()

  constructor(process: SimulatedProcess, random: Random) {
    this.process = process
    this.random = random
  }
}
