import { randomBytes } from 'node:crypto'
import { backgroundTimers, within } from '../../databases/limit.ts'
import type { Answer, Ask, Fault, Watch } from '../../store.ts'

/** For keys that nobody listens for: behind a pooler, without push, or until a lost connection is back. On average. */
const POLL_MS = 100
/** One who was woken and has not asked by then leaves it to the next. */
const TURN_MS = 50
/** A list that could not be left is tried again after this: meanwhile, who is woken by it passes the word on. */
const LEAVE_MS = 1000
/** Keys in one call. */
const MOST_KEYS = 1000
/** One call that hangs must not hold up all others. */
const LIMIT_MS = 3000

/** What a store can do for those who wait. Each is one call to the server. */
export interface Waiting {
  /** How to hear of being woken; undefined to poll only. */
  readonly listen: ((waiter: string, ears: Ears) => Hearing) | undefined
  /** Those of the keys that nobody holds. */
  free(keys: readonly string[]): Promise<readonly string[]>
  /** Joins the waiters of each key that is held; resolves to those keys. */
  enlist(keys: readonly string[], waiter: string): Promise<readonly string[]>
  dismiss(keys: readonly string[], waiter: string): Promise<unknown>
  /** Wakes the next waiter of a key, and puts this one last in the list, if it is given. False if there is no list. */
  pass(key: string, waiter: string | null): Promise<boolean>
}

export interface Ears {
  /** This process was woken for the key. */
  heard(key: string): void
  /** From now on being woken for these is heard. What was before may have been missed. */
  up(keys: Iterable<string>): void
}

export interface Hearing {
  /** Whether being woken for this key would be heard now. */
  hears(key: string): boolean
  /** Keys that this process may be woken for. */
  add(key: string): void
  delete(key: string): void
  stop(): Promise<void>
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
 * Keys that nobody listens for are looked at every 100 ms, all in one read.
 */
export class Push {
  /** Who waits here, as it stands in a list of waiters. */
  readonly id: string = randomBytes(6).toString('base64url')
  readonly #waiting: Waiting
  readonly #audiences = new Set<Audience>()
  /** Keys that may have become free between their denial and now. */
  readonly #fresh = new Set<string>()
  /** Keys whose list of waiters may name this process. */
  readonly #enlisted = new Set<string>()
  readonly #leaving = new Set<string>()
  /** Keys that this process was woken for and has not asked for yet. */
  readonly #turns = new Map<string, NodeJS.Timeout>()
  #hearing: Hearing | undefined
  #soon: NodeJS.Immediate | undefined
  #poll: NodeJS.Timeout | undefined
  #leaveAgain: NodeJS.Timeout | undefined
  #working: Promise<void> | undefined
  #closed = false

  constructor(waiting: Waiting) {
    this.#waiting = waiting
  }

  watch(onFreed: (key: string) => void): Watch {
    const audience: Audience = { keys: new Set(), onFreed }
    this.#audiences.add(audience)
    return {
      add: (key) => {
        if (!this.#audiences.has(audience)) return
        audience.keys.add(key)
        this.#leaving.delete(key)
        this.#listenFor(key)
        this.#poll ??= this.#tick()
        // If it is yet to listen, it looks then.
        if (!this.#hearing || this.#hears(key)) this.#lookSoon(key)
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
        for (const key of this.#keys()) this.#listenFor(key)
      },
    }
  }

  /**
   * The answers of a step that asks for keys: that is what those do who were woken. `waiting`: the keys that this
   * process waits for, where it would hear of being woken. A denial may put it on their lists.
   */
  async around<A extends Answer | Fault>(
    asks: readonly Ask[],
    step: (waiting: ReadonlySet<string>) => Promise<readonly A[]>,
  ): Promise<readonly A[]> {
    const woken = new Set<string>()
    const waiting = new Set<string>()
    for (const { key } of asks) {
      if (this.#endTurn(key)) woken.add(key)
      if (this.#waitsFor(key)) waiting.add(key)
    }
    let answers: readonly A[] = []
    try {
      answers = await step(waiting)
      return answers
    } finally {
      for (const [index, { key }] of asks.entries()) {
        const answer = answers[index]
        if (answer && 'granted' in answer) this.#asked(key, answer.granted, waiting.has(key))
        else if (woken.has(key)) this.#pass(key)
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#audiences.clear()
    for (const key of this.#enlisted) this.#leave(key)
    await this.#stop()
  }

  /** What an ask has done to the list of a key; `waited`: it went out as one who waits. */
  #asked(key: string, granted: boolean, waited: boolean): void {
    if (granted) {
      this.#strike(key)
      // Another client of this store may go on waiting for it.
      if (this.#watches(key)) this.#lookSoon(key)
    } else if (waited) {
      this.#enlisted.add(key)
      this.#leave(key)
    }
  }

  /** Whether one who asks for this key waits for it, and would hear of being woken. */
  #waitsFor(key: string): boolean {
    return this.#watches(key) && this.#hears(key)
  }

  #watches(key: string): boolean {
    for (const { keys } of this.#audiences) if (keys.has(key)) return true
    return false
  }

  #hears(key: string): boolean {
    return this.#hearing?.hears(key) ?? false
  }

  #listenFor(key: string): void {
    this.#hearing ??= this.#waiting.listen?.(this.id, {
      heard: (woken) => this.#heard(woken),
      up: (keys) => {
        for (const each of keys) if (this.#watches(each)) this.#fresh.add(each)
        void this.#work()
      },
    })
    this.#hearing?.add(key)
  }

  /** Nobody waits here any more. The list may still name this process, which would have to pass a wake-up on. */
  #leave(key: string): void {
    if (this.#watches(key)) return
    if (this.#endTurn(key)) this.#pass(key)
    if (!this.#enlisted.has(key)) return this.#hearing?.delete(key)
    this.#leaving.add(key)
    this.#workSoon()
  }

  /** The list does not name this process any more. */
  #strike(key: string): void {
    this.#enlisted.delete(key)
    if (!this.#watches(key)) this.#hearing?.delete(key)
  }

  #heard(key: string): void {
    this.#enlisted.delete(key)
    if (this.#watches(key)) this.#announce(key)
    else this.#pass(key)
  }

  #endTurn(key: string): boolean {
    clearTimeout(this.#turns.get(key))
    return this.#turns.delete(key)
  }

  #pass(key: string): void {
    const waits = this.#waitsFor(key)
    if (waits) this.#enlisted.add(key)
    // A free key may have no record, or lose it, and what failed may not have been done: then it is polled for.
    const again = (): void => {
      if (waits && this.#watches(key)) this.#fresh.add(key)
    }
    this.#waiting.pass(key, waits ? this.id : null).then((isNoted) => isNoted || again(), again)
  }

  #tick(): NodeJS.Timeout {
    return setTimeout(
      () => {
        this.#poll = undefined
        const keys = this.#keys()
        for (const key of keys) if (!this.#hears(key)) this.#fresh.add(key)
        if (this.#fresh.size > 0) void this.#work()
        if (keys.length > 0) this.#poll = this.#tick()
      },
      POLL_MS * (0.75 + Math.random() / 2),
    ).unref()
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
        if (leaving.length > 0) await this.#dismiss(leaving)
        const fresh = take(this.#fresh).filter((key) => this.#watches(key))
        if (fresh.length > 0) (await this.#lookAt(fresh)).forEach((key) => this.#announce(key))
      }
    } catch {
      // The next poll goes on with it; the steps of the store report what is wrong. Without a waiter there is no poll, but
      // who is on a list may be woken, and has to listen until it has left.
      if (this.#leaving.size > 0 && !this.#closed) this.#leaveAgain ??= this.#tryToLeave()
    }
  }

  async #dismiss(keys: readonly string[]): Promise<void> {
    try {
      await bounded(this.#waiting.dismiss(keys, this.id))
    } catch (error) {
      // Again, with what is next to be done.
      for (const key of keys) if (!this.#watches(key)) this.#leaving.add(key)
      throw error
    }
    // Only now: until it is done, this process may be woken for them, and has to pass that on.
    for (const key of keys) if (!this.#watches(key)) this.#strike(key)
  }

  #tryToLeave(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#leaveAgain = undefined
      if (this.#leaving.size > 0) void this.#work()
    }, LEAVE_MS).unref()
  }

  async #lookAt(keys: readonly string[]): Promise<readonly string[]> {
    try {
      return await bounded(this.#askFor(keys))
    } catch (error) {
      // Again: that nobody was woken for them meanwhile is not known.
      for (const key of keys) if (this.#watches(key)) this.#fresh.add(key)
      throw error
    }
  }

  /** Those of the keys that may be free. */
  async #askFor(keys: readonly string[]): Promise<readonly string[]> {
    const heard = keys.filter((key) => this.#hears(key))
    const others = keys.filter((key) => !this.#hears(key))
    const free = others.length > 0 ? await this.#waiting.free(others) : []
    if (heard.length === 0) return free
    for (const key of heard) this.#enlisted.add(key)
    const held = new Set(await this.#waiting.enlist(heard, this.id))
    for (const key of heard) {
      if (!held.has(key)) this.#enlisted.delete(key)
      else {
        // Again: an older place on the list may have woken this process meanwhile, or the last one who waits have left.
        this.#enlisted.add(key)
        if (!this.#watches(key)) this.#leaving.add(key)
      }
    }
    return [...free, ...heard.filter((key) => !held.has(key))]
  }

  /** It may be asked for. If nobody does, others get their turn, and this process is back on the list. */
  #announce(key: string): void {
    this.#endTurn(key)
    if (this.#hears(key)) {
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
    clearTimeout(this.#leaveAgain)
    this.#leaveAgain = undefined
    const hearing = this.#hearing
    this.#hearing = undefined
    await hearing?.stop()
  }
}

function take(keys: Set<string>): string[] {
  const taken: string[] = []
  for (const key of keys) {
    if (taken.length === MOST_KEYS) break
    taken.push(key)
    keys.delete(key)
  }
  return taken
}

function bounded<T>(work: Promise<T>): Promise<T> {
  return within(work, LIMIT_MS, () => new Error('no answer in time'), undefined, backgroundTimers)
}
