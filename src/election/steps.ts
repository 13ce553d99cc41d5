import { LockError } from '../errors.ts'
import type { Term } from './term.ts'

type Step = IteratorResult<Term, undefined>

const DONE: Step = { done: true, value: undefined }

/**
 * The terms of an election as steps of a loop. It stands while the loop waits for the next term, so that no
 * term begins that nobody leads.
 */
export class Steps implements AsyncIterator<Term, undefined> {
  readonly #stop: () => Promise<void>
  #give: ((step: Step) => void) | null = null
  #wake: (() => void) | null = null
  #endTerm: (() => void) | null = null
  #ended = false

  /** `stop`: stands no more, and resolves when the term is over. */
  constructor(stop: () => Promise<void>) {
    this.#stop = stop
  }

  next(): Promise<Step> {
    if (this.#give) {
      const message = 'next() of an election was called while another waits; one loop takes all the terms'
      return Promise.reject(new LockError('INVALID_OPTION', message))
    }
    this.#leave()
    if (this.#ended) return Promise.resolve(DONE)
    return new Promise((resolve) => {
      this.#give = resolve
      this.#wake?.()
    })
  }

  /** The loop was left, by `break` or by an error: nobody would lead the next term. */
  async return(): Promise<Step> {
    this.#leave()
    await this.#stop()
    return DONE
  }

  /** Resolves when the loop wants a term, or at the end. */
  async wanted(): Promise<void> {
    if (this.#give || this.#ended) return
    await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = null
  }

  /** The body of one turn: ends with the next step of the loop. */
  lead(term: Term): Promise<void> {
    const give = this.#give
    // A listener of `elected` has left the loop.
    if (!give) return Promise.resolve()
    this.#give = null
    return new Promise((resolve) => {
      this.#endTerm = resolve
      give({ done: false, value: term })
    })
  }

  /** No more terms. One that is on goes on until the loop's next step. */
  end(): void {
    this.#ended = true
    this.#give?.(DONE)
    this.#give = null
    this.#wake?.()
  }

  #leave(): void {
    this.#endTerm?.()
    this.#endTerm = null
  }
}
