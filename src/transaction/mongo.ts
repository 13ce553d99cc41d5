import type { MongoClient, MongoSession } from '../databases/mongo.ts'
import { ALONE, isAlone, isConflict, isCutOff, isTransient, label } from '../databases/mongo-transaction.ts'
import type { Timer } from '../environment.ts'
import { LockError } from '../errors.ts'
import type { TransactionGuard } from '../options.ts'
import { endedInside } from './control.ts'
import { pause, TimedOut, within } from './limit.ts'
import { optionsOf, rollBackAnyway, sessionOf } from './mongo-session.ts'
import { type Body, checkTokens } from './order.ts'
import { asOfNow, cannotBegin, notHeld, type Terms, unknownOutcome } from './session.ts'

const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 500

/**
 * By the driver's `withTransaction`, which runs the whole again after a conflict or a fail-over, and sends COMMIT again
 * while its outcome is unknown. Each attempt starts with the check, under the same lease.
 */
export async function runInMongo(
  client: MongoClient,
  terms: Terms,
  guard: TransactionGuard | null,
  body: Body,
): Promise<unknown> {
  if (guard) await open(guard, terms)
  return new Run(client, asOfNow(terms), guard, body).result
}

async function open(guard: TransactionGuard, { key, lease, stepMs }: Terms): Promise<void> {
  const opening = guard.open?.()
  if (!opening) return
  try {
    await within(lease.env, { ms: stepMs, what: 'the collection of the guard was not opened' }, opening)
  } catch (error) {
    throw cannotBegin(key, error)
  }
}

/** `failed`: ROLLBACK, and the way to the next attempt. */
type Phase = 'starting' | 'checking' | 'working' | 'committing' | 'failed'

/**
 * Gives up when the lease does not last as long as the driver, which by itself goes on for two minutes, and for ever
 * if the server stands still. Only the caller's function is waited for, however long it takes.
 */
class Run {
  readonly result: Promise<unknown>
  readonly #terms: Terms
  readonly #guard: TransactionGuard | null
  readonly #body: Body
  readonly #late: Promise<never>
  #reject!: (error: Error) => void
  #phase: Phase = 'starting'
  #timer: Timer = null
  #attempts = 0
  #checked = false
  #value: unknown
  #error: unknown
  #over = false

  constructor(client: MongoClient, terms: Terms, guard: TransactionGuard | null, body: Body) {
    this.#terms = terms
    this.#guard = guard
    this.#body = body
    this.#late = new Promise((_, reject) => (this.#reject = reject))
    this.result = this.#run(client)
  }

  async #run(client: MongoClient): Promise<unknown> {
    const session = sessionOf(client, this.#terms, () => this.#assertWanted())
    let failed = true
    const running = session.withTransaction(() => this.#attempt(session), optionsOf(this.#terms))
    try {
      // What the driver has to say after that is heard by `race`.
      await Promise.race([running, this.#late])
      failed = false
      return this.#value
    } catch (error) {
      throw this.#failureOf(error)
    } finally {
      this.#over = true
      this.#terms.lease.env.clearTimer(this.#timer)
      this.#leave(client, session, failed, running)
    }
  }

  /** Nobody waits for it: what bounds it are the driver's own limits. */
  #leave(client: MongoClient, session: MongoSession, failed: boolean, running: Promise<unknown>): void {
    const end = (): void => void session.endSession().then(undefined, ignore)
    // A ROLLBACK that overtakes the check would leave the transaction open, until the server's limit.
    if (failed && this.#phase === 'checking') running.then(end, end)
    else if (failed && this.#phase === 'committing') rollBackAnyway(client, session).then(end, end)
    else end()
  }

  async #attempt(session: MongoSession): Promise<unknown> {
    const { lease, stepMs } = this.#terms
    try {
      await this.#check(session)
      this.#enter('working')
      this.#value = await this.#work(session)
      this.#enter('committing', lease.remainingMs, 'no answer came')
      return undefined
    } catch (error) {
      this.#error = this.#verdictOn(error)
      const again = isTransient(this.#error)
      this.#enter('failed', again ? lease.remainingMs : stepMs, 'ROLLBACK was not answered')
      throw this.#error
    }
  }

  async #check(session: MongoSession): Promise<void> {
    const { lease, stepMs } = this.#terms
    this.#attempts += 1
    this.#checked = false
    // Version 6 of the driver does not pause before the next attempt.
    if (this.#attempts > 1) await pause(lease.env, lease.env.random() * longestPause(this.#attempts))
    this.#assertWanted()
    this.#enter('checking', stepMs, 'the check of the token was not answered')
    if (this.#guard) await checkTokens(this.#guard, session as never, lease)
    this.#assertWanted()
    this.#checked = true
  }

  async #work(session: MongoSession): Promise<unknown> {
    const { key, lease } = this.#terms
    const result = await this.#body(session as never, lease)
    if (!session.inTransaction()) throw endedInside(key)
    this.#assertWanted()
    return result
  }

  /** What is to be thrown for the driver to see. It tries again if the error has a label; no LockError has one. */
  #verdictOn(error: unknown): unknown {
    const { key, lease } = this.#terms
    // See `sessionOf`: this label as well is left off at times.
    if (isCutOff(error)) label(error, 'TransientTransactionError')
    if (isTransient(error)) return lease.held ? error : notHeld(this.#terms, error)
    if (isAlone(error)) return new LockError('INVALID_OPTION', `transaction: ${ALONE}`, { key, cause: error })
    return this.#checked ? error : cannotBegin(key, error)
  }

  #failureOf(error: unknown): unknown {
    const { key, lease } = this.#terms
    if (this.#phase === 'committing') return isTransient(error) ? error : unknownOutcome(key, error)
    if (this.#phase !== 'failed') return cannotBegin(key, error)
    // The last error of the function, not what came of its ROLLBACK.
    if (!isTransient(this.#error)) return this.#error
    if (!lease.held) return notHeld(this.#terms, this.#error)
    if (this.#checked) return this.#error
    const locked = "the guard's document stayed locked by a transaction that does not end"
    return cannotBegin(key, isConflict(this.#error) ? new Error(locked, { cause: this.#error }) : this.#error)
  }

  #assertWanted(): void {
    if (this.#over || !this.#terms.lease.held) throw notHeld(this.#terms)
  }

  #enter(phase: Phase, limitMs?: number, what = ''): void {
    if (this.#over) return
    const { env } = this.#terms.lease
    this.#phase = phase
    env.clearTimer(this.#timer)
    if (limitMs === undefined) return
    const ms = Math.max(1, limitMs)
    this.#timer = env.setTimer(ms, () => this.#reject(new TimedOut(what, ms)), false)
  }
}

function longestPause(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 1.5 ** attempt, LONGEST_PAUSE_MS)
}

function ignore(): void {}
