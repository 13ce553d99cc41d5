import type { Batcher } from './batcher.ts'
import { Bid } from './bid.ts'
import type { Environment, Timer } from './environment.ts'
import { LockError } from './errors.ts'
import { Entry, Schedule } from './schedule.ts'
import type { Claim, ReleaseAnswer } from './store.ts'

const FIRST_GAP_MS = 100
const MAX_GAP_MS = 5000
/** While the store does not answer, an attempt for one leftover so often is enough to notice that it does again. */
const PROBE_GAP_MS = 100
/** So many wait for that. One that is dropped may cost the next who wants its key a lease. */
const MOST_PARKED = 10_000

class Leftover {
  readonly bid: Bid
  readonly entry: Entry<Leftover> = new Entry(this)
  until = 0
  gapMs = 0
  asking = false
  tried = false
  /** More than one call may have left something, so undoing one is not the end. */
  lasting = false

  constructor(bid: Bid) {
    this.bid = bid
  }
}

/**
 * Takes back what an unanswered call may have left in the store. An acquire whose reply never came
 * may have been granted, or may still be on its way; a release may not have arrived. Such an owner is
 * released again and again until the store confirms it or the lease must have run out by itself.
 */
export class Compensation {
  readonly #env: Environment
  readonly #releases: Batcher<Claim, ReleaseAnswer>
  readonly #leftovers = new Map<string, Leftover>()
  /** The last one of each key. */
  readonly #byKey = new Map<string, Leftover>()
  readonly #schedule: Schedule<Leftover>
  /** Not before this may the store be tried: the past while it answers. */
  #probeAt = -Infinity
  /** Those that wait for the store to answer at all, by their turn to find out. */
  readonly #parked = new Set<Leftover>()
  #probe: Timer = null
  #closed = false

  /** `releases` is a batcher of its own: nobody waits for these, and no release may wait behind them. */
  constructor(env: Environment, releases: Batcher<Claim, ReleaseAnswer>) {
    this.#env = env
    this.#releases = releases
    this.#schedule = new Schedule(env, (leftovers) => this.#due(leftovers))
  }

  /** `unconfirmed`: the key may be ours in the store at this moment. Without that and strays, nothing is left. */
  add(bid: Bid, unconfirmed = false): void {
    if (this.#closed || (bid.strays === 0 && !unconfirmed)) return
    const { key, owner } = bid.claim
    const leftover = this.#leftovers.get(owner) ?? new Leftover(bid)
    this.#leftovers.set(owner, leftover)
    this.#byKey.set(key, leftover)
    leftover.lasting ||= bid.strays + (unconfirmed ? 1 : 0) > 1
    leftover.until = Math.max(leftover.until, this.#env.now() + bid.longestMs)
    leftover.gapMs = Math.min(FIRST_GAP_MS, bid.longestMs / 4)
    if (leftover.asking) return
    this.#parked.delete(leftover)
    // A bid that was never granted waits a little: the next to want the key may go on with it.
    if (bid.spent && this.#env.now() >= this.#probeAt) this.#attempt(leftover)
    else this.#schedule.set(leftover.entry, this.#env.now() + leftover.gapMs)
  }

  /** The bid that was given up on `key`, to go on with: its strays then are nobody's leftover. Or a new one. */
  resume(key: string): Bid {
    const leftover = this.#byKey.get(key)
    if (!leftover || leftover.bid.spent) return new Bid({ key, owner: this.#env.newId() })
    this.#forget(leftover)
    return leftover.bid
  }

  /** One last attempt for each, and no more. */
  async close(): Promise<void> {
    this.#closed = true
    const claims = [...this.#leftovers.values()].map(({ bid }) => bid.claim)
    this.#leftovers.clear()
    this.#byKey.clear()
    this.#parked.clear()
    this.#env.clearTimer(this.#probe)
    this.#schedule.close()
    await Promise.all(
      claims.map((claim) => new Promise<void>((resolve) => this.#releases.submit(claim, () => resolve()))),
    )
  }

  #due(leftovers: Leftover[]): void {
    const now = this.#env.now()
    for (const leftover of leftovers) {
      if (now >= this.#probeAt) this.#attempt(leftover)
      else if (leftover.tried && now >= leftover.until) this.#forget(leftover)
      else this.#park(leftover)
    }
  }

  #park(leftover: Leftover): void {
    const [oldest] = this.#parked
    if (oldest && this.#parked.size >= MOST_PARKED) this.#forget(oldest)
    this.#parked.add(leftover)
    this.#probeLater()
  }

  #probeLater(): void {
    if (this.#closed || this.#parked.size === 0) return
    this.#probe ??= this.#env.setTimer(this.#probeAt - this.#env.now(), () => this.#probeNow(), true)
  }

  #probeNow(): void {
    this.#probe = null
    const now = this.#env.now()
    for (const leftover of this.#parked) {
      if (!leftover.tried || now < leftover.until) return this.#attempt(leftover)
      this.#forget(leftover)
    }
  }

  /** The store has answered one of them, or not; then the others wait on. */
  #heard(answered: boolean): void {
    this.#probeAt = answered ? -Infinity : this.#env.now() + PROBE_GAP_MS
    if (answered) for (const leftover of this.#parked) this.#attempt(leftover)
    else this.#probeLater()
  }

  #attempt(leftover: Leftover): void {
    this.#schedule.delete(leftover.entry)
    this.#parked.delete(leftover)
    // Until it is answered, this one is the probe.
    if (this.#probeAt > -Infinity) this.#probeAt = this.#env.now() + PROBE_GAP_MS
    leftover.asking = true
    leftover.tried = true
    leftover.bid.spent = true
    this.#releases.submit(leftover.bid.claim, (answer) => {
      leftover.asking = false
      this.#heard(!(answer instanceof LockError))
      if (this.#leftovers.get(leftover.bid.claim.owner) !== leftover) return
      // Undone; or there is nothing, and nothing can come, since a renewal takes no key back.
      if (
        !(answer instanceof LockError) &&
        (answer.released ? !leftover.lasting : leftover.bid.strays === 0)
      ) {
        return this.#forget(leftover)
      }
      const now = this.#env.now()
      if (now >= leftover.until) return this.#forget(leftover)
      // The last attempt comes at the very end: what arrived since the one before would stay for a lease.
      this.#schedule.set(leftover.entry, Math.min(now + leftover.gapMs, leftover.until))
      leftover.gapMs = Math.min(leftover.gapMs * 2, MAX_GAP_MS)
    })
  }

  #forget(leftover: Leftover): void {
    const { key, owner } = leftover.bid.claim
    this.#schedule.delete(leftover.entry)
    this.#parked.delete(leftover)
    this.#leftovers.delete(owner)
    if (this.#byKey.get(key) === leftover) this.#byKey.delete(key)
  }
}
