import { setTimeout } from 'node:timers/promises'
import type { Database, Listening } from './database.ts'
import { within } from './limit.ts'
import { ECHO } from './expressions.ts'

const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000
/** A connection that was cut without a word is found out after this long. */
const ECHO_EVERY_MS = 15_000

export interface Listened {
  readonly database: Database
  readonly channel: string
  readonly notify: (channel: string, payload: string) => Promise<unknown>
  heard(payload: string): void
  /** From now on nothing is missed. What was before may have been. */
  up(): void
}

/**
 * Keeps one connection listening until it is stopped, with pauses that grow while it cannot. It counts as up once
 * a message of its own came back, and only while such echoes go on coming: a cut connection, or a pooler that
 * swallows messages, would otherwise just be silent.
 */
export class Listener {
  readonly #listened: Listened
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  #echoed: (() => void) | undefined
  #up = false

  constructor(listened: Listened) {
    this.#listened = listened
    this.#done = this.#keep()
  }

  get up(): boolean {
    return this.#up
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#done
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stop
    for (let pauseMs = MIN_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const lost = new AbortController()
      let listening: Listening | null | undefined
      try {
        listening = await this.#listened.database.listen(this.#listened.channel, {
          heard: (payload) => this.#heard(payload),
          lost: () => lost.abort(),
        })
        // Not here, not ever: those who wait are served by polling.
        if (!listening) return
        await this.#converse(AbortSignal.any([signal, lost.signal]), () => (pauseMs = MIN_PAUSE_MS / 2))
      } catch {
        // Push is a help, never a condition. The steps of the store report what is wrong.
      } finally {
        this.#up = false
        await listening?.close()
      }
      await setTimeout(pauseMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(
        () => undefined,
      )
    }
  }

  /** Until the connection is lost or an echo stays out. */
  async #converse(over: AbortSignal, heardItself: () => void): Promise<void> {
    // Once for all echoes: it may go on for years. The one that is waited for when it is over never comes.
    over.addEventListener('abort', () => this.#echoed?.(), { once: true })
    while (!over.aborted) {
      const echo = new Promise<void>((resolve) => (this.#echoed = resolve))
      await Promise.all([
        this.#listened.notify(this.#listened.channel, ECHO),
        within(echo, () => 'no message came back on the listening connection'),
      ])
      if (over.aborted) return
      heardItself()
      if (!this.#up) {
        this.#up = true
        this.#listened.up()
      }
      await setTimeout(ECHO_EVERY_MS, undefined, { signal: over, ref: false }).catch(() => undefined)
    }
  }

  #heard(payload: string): void {
    if (payload === ECHO) this.#echoed?.()
    else this.#listened.heard(payload)
  }
}
