import type { Batcher } from './batcher.ts'
import type { Bid } from './bid.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import { Entry, Schedule } from './schedule.ts'
import type { Claim, ReleaseAnswer } from './store.ts'

const FIRST_GAP_MS = 100
const MAX_GAP_MS = 5000

class Leftover {
  readonly claim: Claim
  readonly entry: Entry<Leftover> = new Entry(this)
  until = 0
  gapMs = 0
  asking = false
  /** Several calls may still arrive, each after the release that undid the one before. */
  lasting = false

  constructor(claim: Claim) {
    this.claim = claim
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
  readonly #schedule: Schedule<Leftover>
  #closed = false

  constructor(env: Environment, releases: Batcher<Claim, ReleaseAnswer>) {
    this.#env = env
    this.#releases = releases
    this.#schedule = new Schedule(env, (leftovers) => {
      for (const leftover of leftovers) this.#attempt(leftover)
    })
  }

  /** Does nothing if every call of the bid was answered. */
  add({ claim, strays, longestMs }: Bid): void {
    if (this.#closed || strays === 0) return
    let leftover = this.#leftovers.get(claim.owner)
    if (!leftover) {
      leftover = new Leftover(claim)
      this.#leftovers.set(claim.owner, leftover)
    }
    leftover.lasting ||= strays > 1
    leftover.until = Math.max(leftover.until, this.#env.now() + longestMs)
    leftover.gapMs = Math.min(FIRST_GAP_MS, longestMs / 4)
    if (!leftover.asking) this.#attempt(leftover)
  }

  /** One last attempt for each, and no more. */
  async close(): Promise<void> {
    this.#closed = true
    const last = [...this.#leftovers.values()].map(
      ({ claim }) => new Promise<void>((resolve) => this.#releases.submit(claim, () => resolve())),
    )
    this.#leftovers.clear()
    this.#schedule.close()
    await Promise.all(last)
  }

  #attempt(leftover: Leftover): void {
    leftover.asking = true
    this.#releases.submit(leftover.claim, (answer) => {
      leftover.asking = false
      const now = this.#env.now()
      const undone = !(answer instanceof LockError) && answer.released && !leftover.lasting
      if (undone || now >= leftover.until || !this.#leftovers.has(leftover.claim.owner)) {
        this.#leftovers.delete(leftover.claim.owner)
        return
      }
      this.#schedule.set(leftover.entry, Math.min(now + leftover.gapMs, leftover.until))
      leftover.gapMs = Math.min(leftover.gapMs * 2, MAX_GAP_MS)
    })
  }
}
