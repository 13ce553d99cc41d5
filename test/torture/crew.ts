import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { bundled } from '../support/bundled.ts'
import type { HistoryWriter } from './history.ts'
import { ready } from './readiness.ts'
import type { Command, Orders } from './worker/index.ts'

const WORKER = fileURLToPath(new URL('./worker/index.ts', import.meta.url))
const STARTING = 4
/** More than all its tries to open its store, of three seconds each. */
const LONGEST_START_MS = 90_000
/** Waiting asks, a body, and all that closing may wait for: much more than it takes. */
const LONGEST_END_MS = 60_000

export interface Worker {
  /** `w7`, and `w7.2` after it was replaced once. */
  readonly name: string
  /** 1 and up; the next one in this place has the same proxies. */
  readonly place: number
  readonly process: ChildProcess
  /** Resolves when it has died and that is written down. */
  readonly gone: Promise<void>
}

interface CrewOptions {
  readonly history: HistoryWriter
  readonly orders: (place: number) => Omit<Orders, 'name'>
  /** Told whenever it changes: none of these may outlive this process. */
  readonly watchOver: (pids: readonly number[]) => void
}

/** The workers: one for each place, at all times. */
export class Crew {
  readonly #options: CrewOptions
  readonly #workers = new Map<number, Worker>()
  readonly #lives = new Map<number, number>()
  /** Those that are meant to die now. */
  readonly #doomed = new Set<string>()
  #ending = false
  /** Why one that nobody waits for did not start. */
  #failure: unknown

  constructor(options: CrewOptions) {
    this.#options = options
  }

  get workers(): Worker[] {
    return [...this.#workers.values()]
  }

  /** One in each of the places from 1 on. A few at a time: to start is the most work that a worker ever does. */
  async muster(places: number): Promise<void> {
    const waiting = Array.from({ length: places }, (_, index) => index + 1)
    const next = async (): Promise<void> => {
      for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) await this.#start(place)
    }
    await Promise.all(Array.from({ length: STARTING }, next))
  }

  /** Resolves when it works, rejects if it never does. */
  async #start(place: number): Promise<void> {
    const program = await bundled(WORKER)
    // After a failure of another one, nobody would end it.
    if (this.#ending) return
    const life = (this.#lives.get(place) ?? 0) + 1
    this.#lives.set(place, life)
    const name = life === 1 ? `w${place}` : `w${place}.${life}`
    const orders: Orders = { name, ...this.#options.orders(place) }
    const output = openSync(join(orders.folder, `${name}.output`), 'w')
    const child = fork(program, [JSON.stringify(orders)], {
      execArgv: [],
      stdio: ['ignore', output, output, 'ipc'],
    })
    closeSync(output)
    const gone = once(child, 'exit').then(([code, signal]) => this.#died(name, place, String(code ?? signal)))
    this.#workers.set(place, { name, place, process: child, gone })
    this.#watch()
    try {
      await ready(name, child, gone, LONGEST_START_MS)
    } catch (error) {
      this.#doomed.add(name)
      child.kill('SIGKILL')
      throw error
    }
  }

  tell(worker: Worker, command: Command): void {
    if (worker.process.connected) worker.process.send(command, () => {})
  }

  /** SIGKILL, and another one takes its place. */
  async replace(worker: Worker): Promise<void> {
    this.#doomed.add(worker.name)
    worker.process.kill('SIGKILL')
    await worker.gone
    await this.#start(worker.place)
  }

  /** Also one that took the place of one that had died by itself. */
  assertStarted(): void {
    if (this.#failure) throw new Error('a worker that had died had no successor', { cause: this.#failure })
  }

  /** All are told to finish, and must end by themselves. */
  async end(): Promise<void> {
    this.#ending = true
    const workers = this.workers
    for (const worker of workers) {
      this.#doomed.add(worker.name)
      this.tell(worker, { do: 'stop' })
    }
    const all = Promise.all(workers.map(({ gone }) => gone))
    const limit = new AbortController()
    await Promise.race([all, sleep(LONGEST_END_MS, null, limit)])
    limit.abort()
    for (const { name, process } of this.workers) {
      this.#doomed.delete(name)
      process.kill('SIGKILL')
    }
    await all
  }

  /** After a failure of the run itself. */
  async abandon(): Promise<void> {
    this.#ending = true
    const workers = this.workers
    for (const { name, process } of workers) {
      this.#doomed.add(name)
      process.kill('SIGKILL')
    }
    await Promise.all(workers.map(({ gone }) => gone))
  }

  #died(worker: string, place: number, code: string): void {
    const wanted = this.#doomed.has(worker)
    this.#options.history.note({ is: 'died', worker, code, wanted })
    if (this.#workers.get(place)?.name === worker) this.#workers.delete(place)
    this.#watch()
    // One that died by itself is a violation; the round goes on without a gap all the same.
    if (!wanted && !this.#ending) {
      void this.#start(place).catch((error: unknown) => (this.#failure ??= error))
    }
  }

  #watch(): void {
    this.#options.watchOver(this.workers.flatMap(({ process }) => process.pid ?? []))
  }
}
