// For users whose `lib` has no Symbol.asyncDispose: the declarations of this file bring it along.
/// <reference lib="esnext.disposable" preserve="true" />
import { checkDuration, type Duration } from './duration.ts'
import { Candidacy, type CandidacyKeeping, type Candidature } from './election/candidacy.ts'
import type { Term } from './election/term.ts'
import { LockError } from './errors.ts'
import { checkNames } from './option-check.ts'
import { type AcquireOptions, checkRequest } from './options.ts'
import type { Settings } from './settings.ts'

export type { Term, TermEnd } from './election/term.ts'

/** Leads for as long as it runs; ends when `term.signal` aborts. */
export type TermBody = (term: Term) => unknown

/** Options of `elect`. */
export interface ElectOptions extends Pick<AcquireOptions, 'lease' | 'context' | 'rotateToken'> {
  /** Stops the election. */
  readonly signal?: AbortSignal | undefined
  /** After a term, before it stands again; up to half as long again. Longer after terms that failed. Default 1 s. */
  readonly pause?: Duration | undefined
}

/** Who leads, as the store knows it. */
export interface Leader {
  readonly service: string
  readonly instance: string
  readonly context: string | null
  /** Since when: milliseconds since 1970 on the store's clock. */
  readonly since: number
}

/** This client's part in the election of one name. */
export interface Election {
  readonly name: string
  /** Whether this process leads at this moment. Computed: false as soon as the term's signal has aborted. */
  readonly isLeader: boolean
  /** Who leads, here or elsewhere, or null. Asks the store; what it says may be over by the time you read it. */
  leader(): Promise<Leader | null>
  /**
   * Ends the term: aborts its signal, and resolves when the body has ended and the key is given back. Stands
   * again after a pause. Does nothing if this process does not lead. Called by the body itself, it does not wait.
   */
  resign(): Promise<void>
  /** Resigns and stands no more. Resolves when that is done; may be called again. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** An election whose terms are the turns of `for await`. It stands while the loop waits for one. */
export interface ElectionLoop extends Election, AsyncIterable<Term> {}

const ELECT_OPTIONS = ['lease', 'context', 'rotateToken', 'signal', 'pause']
/** Another pause than that would be a loop that does nothing but ask the store. */
const PAUSE_LIMITS = { name: 'pause', min: 10 }
const DEFAULT_PAUSE_MS = 1_000

/** `given`: all that stands behind the name. Nothing there is a loop; an undefined function is a mistake. */
export function checkElect(given: readonly unknown[], settings: Settings): Candidature {
  const [second, third] = given
  const [body, options = {}] = typeof second === 'function' ? [second, third] : [third, second]
  const isLoop = given.length === 0 || (given.length === 1 && typeof second === 'object')
  if (!isLoop && typeof body !== 'function')
    throw invalid('give a function that leads: elect(name, async (term) => …)')
  checkNames('elect', options, ELECT_OPTIONS)
  const { signal, pause, ...usingOptions } = options as ElectOptions
  checkRequest('using', { ...usingOptions, signal, atLeast: 0 }, settings)
  return {
    body: (body ?? null) as TermBody | null,
    pauseMs: pause === undefined ? DEFAULT_PAUSE_MS : checkDuration(pause, PAUSE_LIMITS),
    signal: signal ?? null,
    usingOptions,
  }
}

interface ElectionsKeeping extends CandidacyKeeping {
  /** What is attached is ended when the client closes; the result detaches it. */
  readonly attach: (end: () => void) => () => void
}

/** The elections that one client stands in. */
export class Elections {
  readonly #keeping: ElectionsKeeping
  readonly #names = new Set<string>()

  constructor(keeping: ElectionsKeeping) {
    this.#keeping = keeping
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  stand(name: string, plan: Candidature): Candidacy {
    // Two bodies of one process would overlap when the first is late to hear that it leads no more.
    if (this.#names.has(name)) {
      throw invalid(
        `this client stands for "${name}" already; stop that election first, and wait until it is`,
      )
    }
    this.#names.add(name)
    const candidacy = new Candidacy(this.#keeping, name, plan)
    const detach = this.#keeping.attach(() => candidacy.close())
    void candidacy.ended.then(() => {
      detach()
      this.#names.delete(name)
    })
    return candidacy
  }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `elect: ${message}`)
}
