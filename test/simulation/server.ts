import type { Fact } from './facts.ts'
import { ModelStore } from './model-store.ts'
import type { ServerPlan } from './schedule.ts'
import type { World } from './world.ts'

interface Visit {
  readonly serve: () => void
  readonly refuse: () => void
}

/** The machine that the model store runs on, and what can happen to it. */
export class Server {
  readonly store: ModelStore
  /** Grows with each restart: messages of an older epoch reach nobody. */
  epoch = 0
  latencyFactor = 1
  /** Who is to hear of a freed key, by process. */
  readonly subscriptions: Map<number, Set<string>> = new Map()
  readonly #world: World
  readonly #plan: ServerPlan
  #down = false
  #frozen: Visit[] | null = null

  constructor(
    world: World,
    plan: ServerPlan,
    note: (fact: Fact) => void,
    push: (process: number, key: string) => void,
  ) {
    this.#world = world
    this.#plan = plan
    this.store = new ModelStore(
      () => this.clockAt(world.time),
      note,
      (key) => {
        for (const [process, keys] of this.subscriptions) {
          if (keys.has(key)) push(process, key)
        }
      },
    )
  }

  clockAt(time: number): number {
    return this.#plan.clockOffset + time * this.#plan.clockRate
  }

  /** The true time at which the server's clock will show this. */
  timeAt(clock: number): number {
    return (clock - this.#plan.clockOffset) / this.#plan.clockRate
  }

  receive(visit: Visit): void {
    if (this.#down) visit.refuse()
    else if (this.#frozen) this.#frozen.push(visit)
    else visit.serve()
  }

  freeze(): void {
    this.#frozen ??= []
  }

  thaw(): void {
    const visits = this.#frozen ?? []
    this.#frozen = null
    // One after the other: even a fast server gives no two of them the same microsecond.
    visits.forEach((visit, index) =>
      this.#world.at(this.#world.time + index / 100, null, () => this.receive(visit)),
    )
  }

  stop(): void {
    this.#down = true
    this.restart()
  }

  start(): void {
    this.#down = false
  }

  restart(): void {
    this.epoch += 1
    this.subscriptions.clear()
    if (this.#frozen) this.#frozen = []
  }
}
