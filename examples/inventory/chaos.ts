import { setTimeout as sleep } from 'node:timers/promises'
import type { Fleet } from './fleet.ts'
import type { Instance } from './instance.ts'

export interface Misfortunes {
  killed: number
  paused: number
}

/** Kills and pauses processes, at random but never all of a service, until it is told to stop. */
export class Chaos {
  readonly misfortunes: Misfortunes = { killed: 0, paused: 0 }
  readonly #fleet: Fleet
  /** Longer than a lease: what was held is lost, and its holder does not know. */
  readonly #pauseMs: number
  readonly #end = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(fleet: Fleet, pauseMs: number) {
    this.#fleet = fleet
    this.#pauseMs = pauseMs
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      await sleep(500 + Math.random() * 1500, undefined, { signal: this.#end.signal }).catch(() => undefined)
      const victim = pick(this.#fleet.healthy)
      if (!victim || this.#end.signal.aborted) continue
      await (Math.random() < 0.5 ? this.kill(victim) : this.pause(victim))
    }
  }

  async kill(victim: Instance): Promise<void> {
    this.misfortunes.killed += 1
    await this.#fleet.replace(victim)
  }

  async pause(victim: Instance): Promise<void> {
    this.misfortunes.paused += 1
    victim.pause()
    await sleep(this.#pauseMs)
    victim.resume()
  }
}

function pick<T>(all: readonly T[]): T | undefined {
  return all[Math.floor(Math.random() * all.length)]
}
