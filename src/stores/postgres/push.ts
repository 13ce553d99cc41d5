import { createHash, randomBytes } from 'node:crypto'
import type { Watch } from '../../store.ts'
import { Listener, type Listened } from './listener.ts'
import { channelOf, DIGEST, LONGEST_PLAIN_KEY, PLAIN } from './expressions.ts'

/** While nobody listens: behind a pooler, without LISTEN, or until a lost connection is back. */
const POLL_MS = 100
/** One who was woken and has not asked by then leaves it to the next. */
const TURN_MS = 50

export interface Eye {
  /** Where to listen; undefined to poll only. */
  readonly ear: Listened['database'] | undefined
  readonly notify: Listened['notify']
  /** Those of the keys that nobody holds. */
  free(keys: readonly string[]): Promise<readonly string[]>
  /** Joins the waiters of each key that is held; resolves to those keys. */
  enlist(keys: readonly string[], waiter: string): Promise<readonly string[]>
  dismiss(keys: readonly string[], waiter: string): Promise<unknown>
  /** Wakes the next waiter of a key, and puts this one last in the list, if it is given. */
  pass(key: string, waiter: string | null): Promise<unknown>
}

interface Audience {
  readonly keys: Set<string>
  readonly onFreed: (key: string) => void
}

/**
 * Tells watchers which of their keys became free. Each held key has a list of the processes that wait for it, and a
 * release wakes the first of them: waking all would have each of them ask at once, to be told no. One that is woken
 * and does not ask passes the word on; one that has died costs the others a poll of core.
 *
 * Without a listening connection all watched keys are looked at every 100 ms, in one read.
 */
export class Push {
  readonly #eye: Eye
  readonly #id = randomBytes(6).toString('base64url')
  readonly #audiences = new Set<Audience>()
  /** Keys that may have become free between their denial and now. */
  readonly #fresh = new Set<string>()
  /** Keys whose list of waiters may name this process. */
  readonly #enlisted = new Set<string>()
  readonly #leaving = new Set<string>()
  /** Keys that this process was woken for and has not asked for yet. */
  readonly #turns = new Map<string, NodeJS.Timeout>()
  #listener: Listener | undefined
  #soon: NodeJS.Immediate | undefined
  #poll: NodeJS.Timeout | undefined
  #working: Promise<void> | undefined

  constructor(eye: Eye) {
    this.#eye = eye
  }

  /** Who waits here, as it stands in a list of waiters; null while it would not hear that it is woken. */
  get waiter(): string | null {
    return this.#listener?.up ? this.#id : null
  }

  watch(onFreed: (key: string) => void): Watch {
    const audience: Audience = { keys: new Set(), onFreed }
    this.#audiences.add(audience)
    return {
      add: (key) => {
        if (!this.#audiences.has(audience)) return
        audience.keys.add(key)
        this.#leaving.delete(key)
        this.#listen()
        this.#poll ??= this.#tick()
        this.#lookSoon(key)
      },
      delete: (key) => {
        audience.keys.delete(key)
        this.#leave(key)
      },
      close: async () => {
        this.#audiences.delete(audience)
        for (const key of audience.keys) this.#leave(key)
        if (this.#audiences.size === 0) await this.#stop()
        // Someone may have come meanwhile.
        if (this.#keys().length > 0) this.#listen()
      },
    }
  }

  watches(key: string): boolean {
    for (const { keys } of this.#audiences) if (keys.has(key)) return true
    return false
  }

  /** An ask is about to be sent: that is what those do who were woken. Whether this one was. */
  asking(key: string): boolean {
    return this.#endTurn(key)
  }

  /** Was woken and asked, but the ask failed. */
  failed(key: string): void {
    this.#pass(key)
  }

  /** What an ask has done to the list of a key; `enlisting`: it went out as one who waits. */
  asked(key: string, granted: boolean, enlisting: boolean): void {
    if (granted) {
      this.#enlisted.delete(key)
      // Another client of this store may go on waiting for it.
      if (this.watches(key)) this.#lookSoon(key)
    } else if (enlisting) {
      this.#enlisted.add(key)
      this.#leave(key)
    }
  }

  async close(): Promise<void> {
    this.#audiences.clear()
    for (const key of this.#enlisted) this.#leave(key)
    await this.#stop()
  }

  #leave(key: string): void {
    if (this.watches(key)) return
    if (this.#endTurn(key)) this.#pass(key)
    if (!this.#enlisted.has(key)) return
    this.#leaving.add(key)
    this.#workSoon()
  }

  #listen(): void {
    const { ear, notify } = this.#eye
    if (!ear) return
    this.#listener ??= new Listener({
      database: ear,
      channel: channelOf(this.#id),
      notify,
      heard: (payload) => this.#heard(payload),
      up: () => this.#lookAtAll(),
    })
  }

  #heard(payload: string): void {
    const key = payload.startsWith(PLAIN)
      ? payload.slice(PLAIN.length)
      : [...this.#enlisted].find(
          (each) => Buffer.byteLength(each) > LONGEST_PLAIN_KEY && digestOf(each) === payload,
        )
    if (key === undefined) return
    this.#enlisted.delete(key)
    if (this.watches(key)) this.#announce(key)
    else this.#pass(key)
  }

  #endTurn(key: string): boolean {
    clearTimeout(this.#turns.get(key))
    return this.#turns.delete(key)
  }

  #pass(key: string): void {
    const waiter = this.watches(key) ? this.waiter : null
    if (waiter !== null) this.#enlisted.add(key)
    this.#eye.pass(key, waiter).catch(() => undefined)
  }

  #tick(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#poll = undefined
      if (!this.#listener?.up) this.#lookAtAll()
      if (this.#keys().length > 0) this.#poll = this.#tick()
    }, POLL_MS).unref()
  }

  #lookAtAll(): void {
    for (const key of this.#keys()) this.#fresh.add(key)
    void this.#work()
  }

  #lookSoon(key: string): void {
    this.#fresh.add(key)
    this.#workSoon()
  }

  #workSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined
      void this.#work()
    }).unref()
  }

  #work(): Promise<void> {
    this.#working ??= this.#workOff().finally(() => (this.#working = undefined))
    return this.#working
  }

  /** What comes up meanwhile is done after it. */
  async #workOff(): Promise<void> {
    try {
      while (this.#leaving.size > 0 || this.#fresh.size > 0) {
        const leaving = take(this.#leaving)
        if (leaving.length > 0) {
          await this.#eye.dismiss(leaving, this.#id)
          // Only now: until it is done, this process may be woken for them, and has to pass that on.
          for (const key of leaving) if (!this.watches(key)) this.#enlisted.delete(key)
        }
        const fresh = take(this.#fresh).filter((key) => this.watches(key))
        if (fresh.length > 0) (await this.#askFor(fresh)).forEach((key) => this.#announce(key))
      }
    } catch {
      // The next poll, ours or core's, looks again; the steps of the store report what is wrong.
    }
  }

  /** Those of the keys that may be free. */
  async #askFor(keys: readonly string[]): Promise<readonly string[]> {
    const { waiter } = this
    if (waiter === null) return this.#eye.free(keys)
    for (const key of keys) this.#enlisted.add(key)
    const held = new Set(await this.#eye.enlist(keys, waiter))
    for (const key of keys) if (!held.has(key)) this.#enlisted.delete(key)
    return keys.filter((key) => !held.has(key))
  }

  /** It may be asked for. If nobody does, others get their turn, and this process is back on the list. */
  #announce(key: string): void {
    this.#endTurn(key)
    if (this.waiter !== null) {
      const timer = setTimeout(() => {
        this.#turns.delete(key)
        this.#pass(key)
      }, TURN_MS)
      this.#turns.set(key, timer.unref())
    }
    for (const audience of this.#audiences) {
      if (audience.keys.has(key)) audience.onFreed(key)
    }
  }

  #keys(): string[] {
    return [...new Set([...this.#audiences].flatMap(({ keys }) => [...keys]))]
  }

  /** Takes our name off every list first, so that nobody is kept waiting for us. */
  async #stop(): Promise<void> {
    clearImmediate(this.#soon)
    clearTimeout(this.#poll)
    this.#soon = undefined
    this.#poll = undefined
    this.#fresh.clear()
    for (const key of [...this.#turns.keys()]) if (this.#endTurn(key)) this.#pass(key)
    await this.#work()
    const listener = this.#listener
    this.#listener = undefined
    await listener?.stop()
  }
}

function take(keys: Set<string>): string[] {
  const taken = [...keys]
  keys.clear()
  return taken
}

function digestOf(key: string): string {
  return `${DIGEST}${createHash('sha256').update(key).digest('hex')}`
}
