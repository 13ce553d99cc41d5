import type { Environment, Timer } from '../environment.ts'
import { LockError } from '../errors.ts'
import type { Candidate, Done } from './candidate.ts'

/** How often `done` is asked while others have the lock: it grows, since the query is not ours. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000

interface Question {
  readonly by: Candidate
  /** With whom it is given up: the asker, or what it became. */
  owner: Candidate
}

/**
 * One key of `once` in this process, while anyone wants to know whether it is done. One of them asks, and
 * the answer is for all, so that a hundred callers cost as much as one. There is never more than one
 * question at a time, unless its asker has given up on it.
 */
export class Job {
  readonly #env: Environment
  readonly #forget: () => void
  readonly #candidates = new Set<Candidate>()
  #question: Question | null = null
  #timer: Timer = null
  #polls = 0

  constructor(env: Environment, forget: () => void) {
    this.#env = env
    this.#forget = forget
  }

  join(candidate: Candidate): void {
    this.#candidates.add(candidate)
    this.#proceed()
  }

  leave(candidate: Candidate): void {
    candidate.leave()
    if (!this.#candidates.delete(candidate)) return
    // It may never be answered, and nobody is there any more to hear how it went wrong.
    if (this.#question?.owner === candidate) this.#question = null
    this.#proceed()
  }

  /** The lock came. What `candidate` may be asking is too old to act on, but has to end before the next. */
  replace(candidate: Candidate, holder: Candidate): void {
    if (this.#question?.owner === candidate) this.#question.owner = holder
    this.#candidates.add(holder)
    this.leave(candidate)
  }

  close(reason: LockError): void {
    for (const candidate of this.#candidates) candidate.fail(reason)
  }

  #proceed(): void {
    if (this.#candidates.size === 0) {
      this.#clearTimer()
      this.#forget()
    } else if (!this.#question) {
      const next = this.#firstWithoutWord()
      if (next) this.#ask(next)
      else this.#timer ??= this.#env.setTimer(this.#pauseMs(), () => this.#poll(), false)
    }
  }

  #firstWithoutWord(): Candidate | null {
    for (const candidate of this.#candidates) if (!candidate.hasHeard) return candidate
    return null
  }

  #poll(): void {
    this.#timer = null
    this.#polls += 1
    const [oldest] = this.#candidates
    if (oldest) this.#ask(oldest)
  }

  #ask(by: Candidate): void {
    this.#clearTimer()
    const question = { by, owner: by }
    this.#question = question
    answerOf(by.done).then(
      (isDone) => this.#answered(question, isDone, (candidate) => candidate.tell(isDone)),
      (error: unknown) => this.#answered(question, false, (candidate) => candidate.fail(error)),
    )
  }

  #answered(question: Question, isDone: boolean, tell: (candidate: Candidate) => void): void {
    if (this.#question !== question) return
    this.#question = null
    for (const candidate of this.#candidates) {
      if (candidate.insists && candidate !== question.by && !isDone) continue
      tell(candidate)
      if (candidate.hasEnded) this.#candidates.delete(candidate)
    }
    this.#proceed()
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

/** Rows, counts and undefined are refused: an empty list would be true, and a forgotten `return` false. */
async function answerOf(done: Done): Promise<boolean> {
  const answer: unknown = await done()
  if (typeof answer === 'boolean') return answer
  const what = Array.isArray(answer) ? 'an array' : answer === null ? 'null' : typeof answer
  throw new LockError('INVALID_OPTION', `once: done must give true or false, or a promise of it, not ${what}`)
}
