import { KeyMap } from '../key-map.ts'

/** How many keys are counted at a time. */
const COUNTERS = 256
/** How many of them are told. */
export const MAX_SHOWN = 20

/** So many requests are counted one by one, … */
const EXACT = 10_000
/** … and of those after that about one in so many, for all of them. */
const SAMPLE = 16

/**
 * One of the keys that were asked for most. Exact for the first 10,000 requests of a client on at most 256 keys; after
 * that, one request in about sixteen counts for sixteen.
 */
export interface BusyKey {
  readonly key: string
  /** Requests that named the key. `overcount` of them may have been for keys that had its counter before. */
  readonly requests: number
  /** At most a 256th of all requests of the client. */
  readonly overcount: number
  /** Since it has a counter: how many of its requests had to wait for another holder, or were turned away. */
  readonly conflicts: number
  /** How long those have waited together, however it ended. */
  readonly waitedMs: number
}

/** Counters with the same number of requests stand side by side; this is where they end. */
interface Run {
  last: number
}

class Counter {
  key = ''
  requests = 0
  overcount = 0
  conflicts = 0
  waitedMs = 0
  at: number
  run: Run

  constructor(at: number, run: Run) {
    this.at = at
    this.run = run
  }
}

/**
 * The busiest keys by the Space-Saving sketch: a key without a counter takes the one with the fewest requests, and goes
 * on from its number. Of `n` requests that it has seen, every key that had more than n/256 has a counter; `requests` is
 * never too low, `requests - overcount` never too high, and `overcount` at most n/256. To look a key up costs more than
 * all other counting, so once it has seen enough it sees a sample.
 *
 * Counters are sorted at all times: a request moves one to the end of its run, so each costs the same, whatever the keys
 * are. A key has at most 512 bytes of UTF-8, which are 1020 bytes in memory: all of it stays below 320 KiB.
 */
export class BusyKeys {
  readonly #byKey = new KeyMap<Counter>()
  /** The fewest requests first. */
  readonly #sorted: Counter[]
  #exact = EXACT
  /** So many requests go by unseen. */
  #skip = 0
  #chance = 0x9e3779b9
  /** What was looked up last: those that wait for one key come one after the other. */
  #last: Counter

  constructor() {
    const run = { last: COUNTERS - 1 }
    this.#sorted = Array.from({ length: COUNTERS }, (_, at) => new Counter(at, run))
    this.#last = this.#sorted[0] as Counter
  }

  requested(key: string): void {
    if (this.#skip > 0) this.#skip -= 1
    else this.#see(key)
  }

  conflicted(key: string, count: number): void {
    const counter = this.#find(key)
    if (counter) counter.conflicts += count
  }

  waited(key: string, ms: number): void {
    const counter = this.#find(key)
    if (counter) counter.waitedMs += ms
  }

  /** The busiest first. */
  snapshot(): BusyKey[] {
    const busiest = this.#sorted.slice(-MAX_SHOWN).filter(({ key }) => key !== '')
    return busiest.reverse().map(({ key, requests, overcount, conflicts, waitedMs }) => ({
      key,
      requests,
      overcount,
      conflicts,
      waitedMs,
    }))
  }

  #see(key: string): void {
    const counter = this.#find(key) ?? this.#counterFor(key)
    if (this.#exact > 0) {
      this.#exact -= 1
      this.#raise(counter, 1)
    } else {
      this.#skip = this.#random() % (2 * SAMPLE - 1)
      this.#raise(counter, SAMPLE)
    }
  }

  #find(key: string): Counter | undefined {
    if (this.#last.key === key) return this.#last
    const counter = this.#byKey.get(key)
    if (counter) this.#last = counter
    return counter
  }

  #counterFor(key: string): Counter {
    const counter = this.#sorted[0] as Counter
    // No key is empty: that is a counter nobody has had.
    if (counter.key !== '') this.#byKey.delete(counter.key)
    counter.key = key
    counter.overcount = counter.requests
    counter.conflicts = 0
    counter.waitedMs = 0
    this.#byKey.set(key, counter)
    return counter
  }

  /** Marsaglia's xorshift: keys that come in a pattern must not fall in step with what is left out. */
  #random(): number {
    this.#chance ^= this.#chance << 13
    this.#chance ^= this.#chance >>> 17
    this.#chance ^= this.#chance << 5
    return this.#chance >>> 8
  }

  /** Past at most as many runs as it is raised by. */
  #raise(counter: Counter, by: number): void {
    const sorted = this.#sorted
    for (let left = by; left > 0;) {
      const { run, at } = counter
      const { last } = run
      const other = sorted[last] as Counter
      other.at = at
      sorted[at] = other
      counter.at = last
      sorted[last] = counter
      const wasAlone = last === 0 || (sorted[last - 1] as Counter).run !== run
      if (!wasAlone) run.last = last - 1
      const above = last + 1 < COUNTERS ? (sorted[last + 1] as Counter) : null
      const step = above ? above.requests - counter.requests : Infinity
      if (above && step <= left) counter.run = above.run
      else if (!wasAlone) counter.run = { last }
      counter.requests += Math.min(step, left)
      left -= step
    }
  }
}
