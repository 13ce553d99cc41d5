import type { Environment, Timer } from './environment.ts'
import { runApart } from './section.ts'

// Clock sums are not exact: a timer on time may find `now` a hair before the due time.
const ROUNDING_MS = 0.001

/** Something due at a time. The schedule owns the fields; others only read `dueAt` and `scheduled`. */
export class Entry<T> {
  readonly item: T
  dueAt = 0
  /** How much before `dueAt` the entry may be taken along with others. */
  slackMs = 0
  /** Position in the heap; -1 while not in it. */
  slot = -1

  constructor(item: T) {
    this.item = item
  }

  get scheduled(): boolean {
    return this.slot >= 0
  }
}

/**
 * One binary heap and one background timer for any number of due times. The timer is moved only when
 * an earlier time comes in: most entries leave before they are due, and then cost no timer at all.
 */
export class Schedule<T> {
  readonly #env: Environment
  readonly #due: (items: T[]) => void
  readonly #heap: Entry<T>[] = []
  #timer: Timer = null
  #armedFor = Infinity
  #closed = false

  constructor(env: Environment, due: (items: T[]) => void) {
    this.#env = env
    this.#due = due
  }

  /** Adds the entry or moves it. */
  set(entry: Entry<T>, dueAt: number, slackMs = 0): void {
    if (this.#closed) return
    entry.dueAt = dueAt
    entry.slackMs = slackMs
    if (entry.slot < 0) {
      entry.slot = this.#heap.length
      this.#heap.push(entry)
      this.#up(entry)
    } else {
      this.#up(entry)
      this.#down(entry)
    }
    if (dueAt < this.#armedFor) this.#arm(dueAt)
  }

  delete(entry: Entry<T>): void {
    const { slot } = entry
    if (slot < 0) return
    entry.slot = -1
    const last = this.#heap.pop()
    if (last === undefined || last === entry) return
    this.#place(last, slot)
    this.#up(last)
    this.#down(last)
  }

  close(): void {
    this.#closed = true
    this.#disarm()
    for (const entry of this.#heap) entry.slot = -1
    this.#heap.length = 0
  }

  #fire(): void {
    this.#disarm()
    const now = this.#env.now()
    const items: T[] = []
    for (let first = this.#heap[0]; first && this.#isDue(first, now, items.length); first = this.#heap[0]) {
      this.delete(first)
      items.push(first.item)
    }
    const next = this.#heap[0]
    if (next) this.#arm(next.dueAt)
    if (items.length > 0) this.#due(items)
  }

  // Slack gathers company for an entry that is due; alone it is no reason to act early.
  #isDue(entry: Entry<T>, now: number, gathered: number): boolean {
    return entry.dueAt <= now + ROUNDING_MS || (gathered > 0 && entry.dueAt - entry.slackMs <= now)
  }

  #arm(dueAt: number): void {
    this.#disarm()
    this.#armedFor = dueAt
    const delay = Math.max(0, dueAt - this.#env.now())
    this.#timer = runApart(() => this.#env.setTimer(delay, () => this.#fire(), true))
  }

  #disarm(): void {
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#timer = null
    this.#armedFor = Infinity
  }

  #up(entry: Entry<T>): void {
    let { slot } = entry
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const parent = this.#heap[above]
      if (!parent || parent.dueAt <= entry.dueAt) break
      this.#place(parent, slot)
      slot = above
    }
    this.#place(entry, slot)
  }

  #down(entry: Entry<T>): void {
    let { slot } = entry
    for (;;) {
      const left = this.#heap[2 * slot + 1]
      const right = this.#heap[2 * slot + 2]
      const child = right && left && right.dueAt < left.dueAt ? right : left
      if (!child || child.dueAt >= entry.dueAt) break
      const below = child.slot
      this.#place(child, slot)
      slot = below
    }
    this.#place(entry, slot)
  }

  #place(entry: Entry<T>, slot: number): void {
    this.#heap[slot] = entry
    entry.slot = slot
  }
}
