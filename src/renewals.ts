import type { Batcher } from './batcher.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import type { Hold } from './hold.ts'
import { Schedule } from './schedule.ts'
import type { Renewal, RenewalAnswer } from './store.ts'

/** Renewals due within this part of their interval go along with one that is due now. */
const GATHER = 0.2
const FIRST_RETRY_MS = 50
/** Of one hold at once. A store slower than the lease would otherwise gather them without end. */
const MAX_UNDER_WAY = 4

/**
 * Keeps every hold alive: one heap, one timer, and what is due together goes in one call. A failure
 * is not a loss: it is tried again until the hold's own deadline, which does not depend on this file.
 */
export class Renewals {
  readonly #env: Environment
  readonly #batcher: Batcher<Renewal, RenewalAnswer>
  readonly #schedule: Schedule<Hold>

  constructor(env: Environment, batcher: Batcher<Renewal, RenewalAnswer>) {
    this.#env = env
    this.#batcher = batcher
    this.#schedule = new Schedule(env, (holds) => {
      for (const hold of holds) this.#renew(hold)
    })
  }

  add(hold: Hold, sentAt: number): void {
    const interval = untilNext(hold, sentAt)
    this.#schedule.set(hold.renewal, sentAt + interval, interval * GATHER)
  }

  delete(hold: Hold): void {
    this.#schedule.delete(hold.renewal)
  }

  /** Resolves when the store has confirmed it; rejects with the reason if it did not. */
  renewNow(hold: Hold, leaseMs: number): Promise<void> {
    const { lease } = hold
    return new Promise((resolve, reject) => {
      this.#send(hold, leaseMs, (error) => {
        if (error) return reject(error)
        // It may have been handed on meanwhile, to one that asked for another length.
        if (hold.lease === lease) hold.leaseMs = leaseMs
        resolve()
      })
    })
  }

  close(): void {
    this.#schedule.close()
  }

  #renew(hold: Hold): void {
    // Due again before the answer: a call that hangs is overtaken, not waited for.
    this.#schedule.set(hold.renewal, this.#env.now() + paceOf(hold) / 2)
    if (hold.renewalsUnderWay >= MAX_UNDER_WAY) return
    this.#send(hold, hold.leaseMs, (error) => {
      // Not in the schedule: the hold ended, or is not to be renewed any more.
      if (!error || !hold.renewal.scheduled) return
      const backoff = Math.min(FIRST_RETRY_MS * 2 ** hold.failures, paceOf(hold) / 2)
      hold.failures += 1
      hold.failure = error
      this.#schedule.set(hold.renewal, this.#env.now() + backoff * (0.5 + this.#env.random() / 2))
      if (hold.lease) hold.journal.renewalFailed(hold.lease, error)
    })
  }

  #send(hold: Hold, leaseMs: number, done: (error: LockError | null) => void): void {
    const { rotateMs } = hold.request
    const rotate = rotateMs > 0 && this.#env.now() - hold.rotatedAt >= rotateMs * (1 - GATHER)
    const { key, owner } = hold.claim
    const renewal: Renewal = rotate ? { key, owner, leaseMs, rotate } : { key, owner, leaseMs }
    hold.bid.sending(leaseMs)
    hold.renewalsUnderWay += 1
    this.#batcher.submit(renewal, (answer, sentAt) => {
      hold.renewalsUnderWay -= 1
      if (answer instanceof LockError) return done(answer)
      if (!answer.renewed) {
        const reason = gone(hold)
        hold.lose(reason)
        return done(reason)
      }
      hold.journal.renewed()
      hold.failures = 0
      hold.failure = undefined
      hold.renewed(sentAt, leaseMs, answer.grant)
      done(null)
      if (hold.renewal.scheduled) this.add(hold, sentAt)
    })
  }
}

function paceOf(hold: Hold): number {
  const third = hold.leaseMs / 3
  return hold.request.rotateMs > 0 ? Math.min(third, hold.request.rotateMs) : third
}

/** A third of the lease at most, and in steps that meet the moment when the token is to rise. */
function untilNext(hold: Hold, sentAt: number): number {
  const third = hold.leaseMs / 3
  const { rotateMs } = hold.request
  if (rotateMs === 0) return third
  // One that was sent just before its time did not raise the token.
  const left = Math.max(hold.rotatedAt + rotateMs - sentAt, rotateMs * GATHER)
  return left / Math.ceil(left / third)
}

function gone(hold: Hold): LockError {
  const { key } = hold.claim
  return new LockError(
    'LOCK_LOST',
    `the store no longer has our lease on "${key}": it ran out or was freed by force`,
    {
      key,
    },
  )
}
