import type { Environment, Timer } from '../environment.ts'
import type { LockError } from '../errors.ts'
import type { Candidate } from './candidate.ts'

/** How often `done` is asked while others have the lock: it grows, since the query is not ours. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
/** How long the others wait for an answer. It grows with those that do not come: slow ones are not to become many. */
const FIRST_TURN_MS = 1000
const LONGEST_TURN_MS = 5000

/**
 * One key of `once` in this process, while anyone wants to know whether it is done. One of them asks, and
 * the answer is for all, so that a hundred callers cost as much as one. An answer may never come, so the
 * others wait for it for the time of a turn. Who has the lock does not wait: only its own answer counts for it.
 */
export class Job {
  readonly #env: Environment
  readonly #forget: () => void
  readonly #candidates = new Set<Candidate>()
  /** Those of them that have asked and got no answer yet. */
  readonly #asking = new Set<Candidate>()
  /** Whose answer the others wait for. It may have left: its question is under way all the same. */
  #turn: Candidate | null = null
  /** To the end of the turn; to the next poll if it is nobody's. */
  #timer: Timer = null
  #polls = 0

  constructor(env: Environment, forget: () => void) {
    this.#env = env
    this.#forget = forget
  }

  join(candidate: Candidate): void {
    this.#candidates.add(candidate)
    if (candidate.insists) this.#ask(candidate)
    else this.#proceed()
  }

  /** How its question goes wrong is not heard any more: nobody is there to hear it. */
  leave(candidate: Candidate): void {
    candidate.leave()
    if (!this.#candidates.delete(candidate)) return
    this.#asking.delete(candidate)
    this.#proceed()
  }

  close(reason: LockError): void {
    for (const candidate of this.#candidates) candidate.fail(reason)
  }

  #proceed(): void {
    if (this.#candidates.size === 0) {
      this.#clearTimer()
      this.#forget()
    } else if (!this.#turn) {
      const next = this.#oldest(({ hasHeard }) => !hasHeard)
      if (next) this.#ask(next)
      else this.#timer ??= this.#env.setTimer(this.#pauseMs(), () => this.#poll(), false)
    }
  }

  /** Of those that do not ask already. */
  #oldest(fits: (candidate: Candidate) => boolean): Candidate | null {
    for (const candidate of this.#candidates)
      if (!this.#asking.has(candidate) && fits(candidate)) return candidate
    return null
  }

  #poll(): void {
    this.#timer = null
    this.#polls += 1
    const next = this.#oldest(() => true)
    if (next) this.#ask(next)
  }

  #ask(by: Candidate): void {
    this.#clearTimer()
    this.#asking.add(by)
    this.#turn = by
    this.#timer = this.#env.setTimer(this.#turnMs(), () => this.#overtake(by), false)
    by.ask().then(
      (isDone) => this.#answered(by, isDone),
      (error: unknown) => this.#failed(by, error),
    )
  }

  #overtake(slow: Candidate): void {
    this.#endTurn(slow)
    this.#proceed()
  }

  #answered(by: Candidate, isDone: boolean): void {
    this.#endTurn(by)
    const isHeard = this.#asking.delete(by)
    // What is done stays so, whoever had asked.
    if (isHeard || isDone)
      this.#tell(
        by,
        (candidate) => isDone || this.#heedsOthers(candidate),
        (candidate) => candidate.tell(isDone),
      )
    this.#proceed()
  }

  #failed(by: Candidate, error: unknown): void {
    // Overtaken, it is no news: others have asked since.
    const isNews = this.#endTurn(by)
    if (this.#asking.delete(by))
      this.#tell(
        by,
        (candidate) => isNews && this.#heedsOthers(candidate),
        (candidate) => candidate.fail(error),
      )
    this.#proceed()
  }

  #tell(by: Candidate, isForIt: (other: Candidate) => boolean, tell: (candidate: Candidate) => void): void {
    for (const candidate of this.#candidates) {
      if (candidate !== by && !isForIt(candidate)) continue
      tell(candidate)
      if (!candidate.hasEnded) continue
      this.#candidates.delete(candidate)
      this.#asking.delete(candidate)
    }
  }

  /**
   * Not while it waits for an answer of its own: under the lock only that counts, and without it the lock would be
   * taken at the word of another, and kept.
   */
  #heedsOthers(candidate: Candidate): boolean {
    return !this.#asking.has(candidate)
  }

  /** Whether it was its turn. */
  #endTurn(of: Candidate): boolean {
    if (this.#turn !== of) return false
    this.#turn = null
    this.#clearTimer()
    return true
  }

  #turnMs(): number {
    return Math.min(FIRST_TURN_MS * 2 ** (this.#asking.size - 1), LONGEST_TURN_MS)
  }

  #pauseMs(): number {
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** this.#polls, LONGEST_PAUSE_MS)
    return ms * (0.5 + this.#env.random() / 2)
  }

  #clearTimer(): void {
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#timer = null
  }
}
