import { AsyncLocalStorage } from 'node:async_hooks'
import { onAbort } from '../abort.ts'
import type { Election, Leader } from '../election.ts'
import { type Enclosing, innermost } from '../enclosing.ts'
import type { Environment } from '../environment.ts'
import { LockError, type LockErrorCode } from '../errors.ts'
import type { Lease } from '../lease.ts'
import type { Journal } from '../monitor/journal.ts'
import type { UsingOptions } from '../options.ts'
import { runOutside } from '../section.ts'
import type { LockRecord } from '../store.ts'
import { Steps } from './steps.ts'
import { grantOf, Tenure } from './tenure.ts'
import type { Term, TermEnd } from './term.ts'

export interface CandidacyKeeping {
  readonly env: Environment
  readonly journal: Journal
  readonly using: <T>(key: string, options: UsingOptions, body: (lease: Lease) => Promise<T>) => Promise<T>
  readonly inspect: (key: string) => Promise<LockRecord | null>
}

/** Options of one election, checked and complete. */
export interface Candidature {
  /** Null: its terms are the steps of a loop. */
  readonly body: ((term: Term) => unknown) | null
  readonly pauseMs: number
  readonly signal: AbortSignal | null
  readonly usingOptions: UsingOptions
}

/** A body that crashes at once is started again this seldom. */
const LONGEST_PAUSE_MS = 30_000

/** The terms that the running code is the body of, or was started by. */
const inside = new AsyncLocalStorage<Inside>()

interface Inside extends Enclosing<Inside> {
  readonly tenure: Tenure
}

/** Stands for one name: waits, leads, steps down, pauses, stands again, until it is stopped. */
export class Candidacy implements Election, AsyncIterable<Term> {
  readonly name: string
  readonly #keeping: CandidacyKeeping
  readonly #plan: Candidature
  readonly #body: (term: Term) => unknown
  readonly #steps: Steps | null
  readonly #quit = new AbortController()
  readonly #ended: Promise<void>
  readonly #unheed: (() => void) | null
  #tenure: Tenure | null = null
  /** Until the key of the term is given back. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Whether it has been said that the store gives lower numbers than this election had. */
  #saidBehind = false
  #lastNumber = 0
  #failures = 0
  #iterated = false

  constructor(keeping: CandidacyKeeping, name: string, plan: Candidature) {
    this.name = name
    this.#keeping = keeping
    this.#plan = plan
    const steps = plan.body ? null : new Steps(() => this.#withdraw())
    this.#steps = steps
    this.#body = plan.body ?? ((term) => steps?.lead(term))
    const { signal } = plan
    this.#unheed = signal && onAbort(signal, () => void this.#stop(signal.reason))
    // An election that is started inside `using` is not part of that section.
    this.#ended = runOutside(() => this.#run())
  }

  /** When it stands no more, its last term is over and its key is given back. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended
  }

  get isLeader(): boolean {
    return this.#tenure?.leads ?? false
  }

  async leader(): Promise<Leader | null> {
    const record = await this.#keeping.inspect(this.name)
    if (!record) return null
    const { service, instance, context } = record.holder
    return { service, instance, context, since: record.since }
  }

  async resign(): Promise<void> {
    const tenure = this.#tenure
    tenure?.tell('resigned', this.#word('LOCK_ABORTED', 'resign() was called'))
    if (!this.#isInside()) await (tenure ? this.#turn : null)
  }

  async stop(): Promise<void> {
    const ended = this.#stop()
    if (!this.#isInside()) await ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  [Symbol.asyncIterator](): AsyncIterator<Term, undefined> {
    if (!this.#steps || this.#iterated) {
      const why = this.#steps ? 'it has a loop already' : 'it was given a function, which leads its terms'
      throw new LockError('INVALID_OPTION', `the election of "${this.name}" cannot be iterated: ${why}`)
    }
    this.#iterated = true
    return this.#steps
  }

  /** The client closes, which gives a body until the deadline of its lease. */
  close(): void {
    void this.#withdraw()
    this.#tenure?.close(this.#word('CLOSED', 'the client was closed'))
  }

  #stop(cause?: unknown): Promise<void> {
    const ended = this.#withdraw()
    this.#tenure?.tell('stopped', this.#word('LOCK_ABORTED', 'the election was stopped', cause))
    return ended
  }

  /** Stands no more; a term that is on goes on. */
  #withdraw(): Promise<void> {
    this.#unheed?.()
    this.#quit.abort()
    this.#steps?.end()
    return this.#ended
  }

  async #run(): Promise<void> {
    const { signal } = this.#quit
    while (!signal.aborted) {
      await this.#steps?.wanted()
      this.#turn = this.#stand()
      await this.#turn
      await this.#pause()
    }
  }

  /** One try, however long it takes. Never rejects. */
  async #stand(): Promise<void> {
    const { journal, using } = this.#keeping
    const { signal } = this.#quit
    if (signal.aborted) return
    // A shortest hold, which a pattern of the client's may ask for, would hold up the next leader.
    const options = {
      ...this.#plan.usingOptions,
      atLeast: 0,
      wait: Infinity,
      signal,
      onLost: 'ignore',
    } as const
    let end: TermEnd | null = null
    let behind: LockError | null = null
    try {
      await using(this.name, options, async (lease) => {
        const number = grantOf(lease)
        if (number < this.#lastNumber) throw (behind = this.#fellBehind(number))
        end = await this.#lead(lease, number)
      })
    } catch (error) {
      // A store that is down is waited for; this is one that refuses or has forgotten, or a lease that came too late.
      if (!signal.aborted && end === null) {
        // Nothing else tells of a clock that is behind, for as long as that may last.
        const isNews = error === behind && !this.#saidBehind
        if (isNews) this.#saidBehind = true
        journal[isNews ? 'warning' : 'fault'](error as LockError)
        this.#failures += 1
      }
    }
    this.#tenure = null
  }

  async #lead(lease: Lease, number: number): Promise<TermEnd | null> {
    const { env, journal } = this.#keeping
    // A grant that came back from another task of this process, in a hand-off, is no new term.
    if (this.#quit.signal.aborted || number === this.#lastNumber) return null
    this.#lastNumber = number
    this.#saidBehind = false
    const tenure = new Tenure(env, journal, lease)
    this.#tenure = tenure
    journal.elected({ name: this.name, number, token: tenure.token })
    let thrown: { readonly error: unknown } | null = null
    try {
      // A listener of that event may have ended it.
      if (tenure.leads) await inside.run({ tenure, outer: running() }, this.#body, tenure)
    } catch (error) {
      thrown = { error }
    }
    // The token may have been rotated.
    this.#lastNumber = grantOf(lease)
    const why = tenure.finish(thrown)
    if (why !== 'failed') this.#failures = 0
    else this.#failures = tenure.lasted ? 1 : this.#failures + 1
    return why
  }

  /** Gives others their turn: at least that long, and up to half as long again. */
  async #pause(): Promise<void> {
    const { env } = this.#keeping
    const { signal } = this.#quit
    if (signal.aborted) return
    const { pauseMs } = this.#plan
    const longestMs = Math.max(LONGEST_PAUSE_MS, pauseMs)
    const ms = Math.min(pauseMs * 2 ** Math.max(0, this.#failures - 1), longestMs)
    await new Promise<void>((resolve) => {
      const timer = env.setTimer(ms * (1 + env.random() / 2), () => (unheed(), resolve()), false)
      const unheed = onAbort(signal, () => (env.clearTimer(timer), resolve()))
    })
  }

  /** The body waits for nothing that waits for it. */
  #isInside(): boolean {
    let at = running()
    while (at && at.tenure !== this.#tenure) at = at.outer
    return at !== undefined
  }

  /** To lead would be in vain: what checks tokens has seen higher ones. */
  #fellBehind(number: number): LockError {
    const message =
      `the store gave "${this.name}" the grant ${number}, lower than ${this.#lastNumber}, which this election led ` +
      'with before: it has lost its records, and its clock is behind. Set that clock right; this election does not ' +
      'lead before it has caught up'
    return new LockError('STORE_UNAVAILABLE', message, { key: this.name })
  }

  #word(code: LockErrorCode, what: string, cause?: unknown): LockError {
    return new LockError(code, `the term of "${this.name}" has to end: ${what}`, {
      key: this.name,
      cause,
    })
  }
}

function running(): Inside | undefined {
  return innermost(inside.getStore(), ({ tenure }) => tenure.over)
}
