import type { Duration } from './duration.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import type { Lease } from './lease.ts'
import type { Journal } from './monitor/journal.ts'
import { checkNames } from './option-check.ts'
import { ACQUIRE_OPTIONS, type AcquireOptions, checkRequest, type UsingOptions } from './options.ts'
import type { Settings } from './settings.ts'
import { Candidate, type Done } from './once/candidate.ts'
import { Job } from './once/job.ts'
import { aborted } from './waiter.ts'

/** `ran`: by this call. `done`: by another, now or long ago. */
export type OnceOutcome = 'ran' | 'done'

/** Options of `once`. */
export interface OnceOptions extends AcquireOptions {
  /** How long to wait for another to do it. Default: 5 minutes, or the client's if that is longer. */
  readonly wait?: Duration | undefined
  /** Whether the job is done: looks for the mark that `run` leaves. Asked often, so it should be cheap. */
  readonly done: () => boolean | Promise<boolean>
  /** Does the job and leaves the mark, last. May find half of the work of one that died. */
  readonly run: (lease: Lease) => unknown
}

interface OnceTerms {
  readonly done: Done
  readonly run: (lease: Lease) => unknown
  readonly waitMs: number
  readonly leaseMs: number
  readonly signal: AbortSignal | null
  readonly usingOptions: UsingOptions
}

const ONCE_OPTIONS = ['done', 'run', ...ACQUIRE_OPTIONS]
/** Several leases, so that the next one can follow a runner that died; and not for ever, if it hangs. */
const DEFAULT_WAIT_MS = 300_000

export function checkOnce(options: OnceOptions, settings: Settings): OnceTerms {
  checkNames('once', options, ONCE_OPTIONS)
  const { done, run, ...rest } = options
  if (typeof done !== 'function')
    throw invalid('done: give a function that tells whether the job is done: once(key, { done, run })')
  if (typeof run !== 'function')
    throw invalid('run: give a function that does the job: once(key, { done, run })')
  const waits = { ...settings, waitMs: Math.max(settings.waitMs, DEFAULT_WAIT_MS) }
  const { waitMs, leaseMs, signal } = checkRequest('using', rest, waits)
  return { done, run, waitMs, leaseMs, signal, usingOptions: { ...rest, lease: leaseMs } }
}

interface OnceKeeping {
  readonly env: Environment
  readonly journal: Journal
  readonly using: <T>(key: string, options: UsingOptions, body: (lease: Lease) => Promise<T>) => Promise<T>
}

/** The calls of `once` of one client. */
export class Once {
  readonly #keeping: OnceKeeping
  readonly #jobs = new Map<string, Job>()
  #closed = false

  constructor(keeping: OnceKeeping) {
    this.#keeping = keeping
  }

  async call(key: string, terms: OnceTerms): Promise<OnceOutcome> {
    const { env } = this.#keeping
    const { signal, waitMs, leaseMs } = terms
    if (signal?.aborted) throw aborted(key, signal)
    const start = env.now()
    const candidate = new Candidate(env, terms.done, false)
    if (signal) candidate.heed(signal, () => aborted(key, signal))
    // A wait of 0 is one try of the lock, but `done` has to be given time.
    const limitMs = waitMs === 0 ? leaseMs : waitMs
    candidate.limit(limitMs, () => unanswered(key, candidate, limitMs))
    const job = this.#jobOf(key)
    job.join(candidate)
    try {
      await candidate.heard
      if (candidate.isDone()) return 'done'
      const wait = Math.max(0, waitMs - (env.now() - start))
      const options = { ...terms.usingOptions, wait, signal: candidate.signal }
      const outcome = await this.#keeping.using(key, options, (lease) =>
        this.#runUnder(lease, terms, job, candidate),
      )
      if (outcome === 'ran') await this.#lookForMark(key, terms)
      return outcome
    } catch (error) {
      // Also if the lease was lost when all was done: this call has changed nothing.
      if (candidate.isDone()) return 'done'
      throw error
    } finally {
      job.leave(candidate)
    }
  }

  /** Calls that wait for the lock or hold it hear of it there too. */
  close(reason: LockError): void {
    this.#closed = true
    for (const job of this.#jobs.values()) job.close(reason)
  }

  async #runUnder(lease: Lease, terms: OnceTerms, job: Job, candidate: Candidate): Promise<OnceOutcome> {
    // It may have been told just when the lock came.
    if (candidate.isDone()) return 'done'
    const holder = this.#insistent(lease.key, terms)
    holder.heed(lease.signal, () => lease.signal.reason)
    job.join(holder)
    // What it may be asking is too old to act on.
    job.leave(candidate)
    const isDone = await answerFor(holder, job)
    candidate.tell(isDone)
    if (isDone) return 'done'
    lease.assertHeld()
    await terms.run(lease)
    return 'ran'
  }

  /** One that leaves no mark would be run by every caller, and nobody would notice. */
  async #lookForMark(key: string, terms: OnceTerms): Promise<void> {
    if (this.#closed || terms.signal?.aborted) return
    const looker = this.#insistent(key, terms)
    if (terms.signal) looker.heed(terms.signal, () => aborted(key, terms.signal))
    const job = this.#jobOf(key)
    job.join(looker)
    try {
      if (await answerFor(looker, job)) return
    } catch {
      // The job was run all the same; whoever needs the answer will ask again.
      return
    }
    const message = `once: run() of "${key}" has ended but done() is false, so the next caller will run it again`
    this.#keeping.journal.warning(new LockError('INVALID_OPTION', message, { key }))
  }

  /** Asks a question of its own, for at most as long as a lease. */
  #insistent(key: string, { done, leaseMs }: OnceTerms): Candidate {
    const candidate = new Candidate(this.#keeping.env, done, true)
    candidate.limit(leaseMs, () => unanswered(key, candidate, leaseMs))
    return candidate
  }

  #jobOf(key: string): Job {
    const known = this.#jobs.get(key)
    if (known) return known
    const job: Job = new Job(this.#keeping.env, () => {
      if (this.#jobs.get(key) === job) this.#jobs.delete(key)
    })
    this.#jobs.set(key, job)
    return job
  }
}

async function answerFor(candidate: Candidate, job: Job): Promise<boolean> {
  try {
    await candidate.heard
    return candidate.isDone()
  } finally {
    job.leave(candidate)
  }
}

function unanswered(key: string, { askedForMs }: Candidate, limitMs: number): LockError {
  const why =
    askedForMs === null
      ? `was not called within ${Math.round(limitMs)} ms, as that of another caller gave no answer`
      : `gave no answer within ${Math.round(askedForMs)} ms`
  return new LockError('LOCK_ACQUIRE_TIMEOUT', `once: done() of "${key}" ${why}`, { key })
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `once: ${message}`)
}
