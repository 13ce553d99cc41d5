import type { Environment, Timer } from '../environment.ts'
import type { LockError } from '../errors.ts'
import type { Feed, News } from './feed.ts'
import { invalid } from './problems.ts'

/**
 * Anything that gives configurations one after the other. As a function it is called with a signal that aborts when the
 * client closes, and called again, after a pause, when what it gave has failed.
 */
export type ConfigSource = AsyncIterable<unknown> | ((signal: AbortSignal) => AsyncIterable<unknown>)

const FIRST_MS = 30_000
/** A source that never pauses must not take the whole process. */
const PAUSE_MS = 100
const RETRY_MS = 1000
const MOST_RETRY_MS = 60_000
/** One that lasted that long worked: what ends it then is another incident. */
const STEADY_MS = 10_000
/** How long `close` waits for a source to end. One that waits for news and heeds no signal cannot. */
const FAREWELL_MS = 250

export class SourceFeed implements Feed {
  readonly name = 'source'
  readonly #source: ConfigSource
  readonly #env: Environment
  readonly #abort = new AbortController()
  readonly #timers = new Map<Timer, () => void>()
  #iterator: AsyncIterator<unknown> | null = null
  #openedAt = 0
  /** Failures in a row. */
  #failures = 0

  constructor(source: ConfigSource, env: Environment) {
    this.#source = source
    this.#env = env
  }

  async first(): Promise<unknown> {
    try {
      const result = await Promise.race([this.#next(), this.#pause(FIRST_MS, false)])
      if (!result) throw new Unusable(`it gave no configuration within ${FIRST_MS / 1000} s`)
      if (result.done) throw new Unusable('it ended without a configuration')
      return result.value
    } catch (error) {
      throw failed(error)
    } finally {
      this.#wake()
    }
  }

  follow(tell: (news: News) => Promise<void>): void {
    void this.#run(tell)
  }

  async close(): Promise<void> {
    this.#abort.abort()
    this.#wake()
    const iterator = this.#iterator
    const end = async (): Promise<void> => void (await iterator?.return?.())
    await Promise.race([end().catch(() => undefined), this.#pause(FAREWELL_MS, false)])
    this.#wake()
  }

  get #closed(): boolean {
    return this.#abort.signal.aborted
  }

  /** Never rejects. */
  async #run(tell: (news: News) => Promise<void>): Promise<void> {
    while (!this.#closed) {
      await this.#pause(PAUSE_MS, true)
      if (this.#closed) return
      try {
        const { done, value } = await this.#next()
        if (this.#closed || done) return
        await tell({ value })
      } catch (error) {
        if (this.#closed || !(await this.#recover(error, tell))) return
      }
    }
  }

  /** Whether there is a next try. */
  async #recover(error: unknown, tell: (news: News) => Promise<void>): Promise<boolean> {
    this.#iterator = null
    if (this.#env.now() - this.#openedAt >= STEADY_MS) this.#failures = 0
    const again = typeof this.#source === 'function'
    // Once for a row of failures.
    if (this.#failures === 0) await tell({ error: failed(error, again) })
    if (!again) return false
    const limit = Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** Math.min(this.#failures, 10))
    this.#failures += 1
    await this.#pause(limit * (0.5 + this.#env.random() / 2), true)
    return true
  }

  async #next(): Promise<IteratorResult<unknown>> {
    const iterator = (this.#iterator ??= this.#open())
    const result: unknown = await iterator.next()
    if (typeof result === 'object' && result !== null) return result as IteratorResult<unknown>
    throw new Unusable('its next() gave no object')
  }

  #open(): AsyncIterator<unknown> {
    this.#openedAt = this.#env.now()
    const { signal } = this.#abort
    const iterable = typeof this.#source === 'function' ? this.#source(signal) : this.#source
    if (typeof iterable?.[Symbol.asyncIterator] !== 'function')
      throw new Unusable('what the function returned is no async iterable')
    return iterable[Symbol.asyncIterator]()
  }

  /** Ends early when it is woken. In the background, it does not keep the process alive. */
  #pause(ms: number, background: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#env.setTimer(
        ms,
        () => {
          this.#timers.delete(timer)
          resolve()
        },
        background,
      )
      this.#timers.set(timer, resolve)
    })
  }

  #wake(): void {
    for (const [timer, resolve] of this.#timers) {
      this.#env.clearTimer(timer)
      resolve()
    }
    this.#timers.clear()
  }
}

class Unusable extends Error {}

function failed(error: unknown, again = false): LockError {
  const what = error instanceof Unusable ? error.message : `it has failed${kindOf(error)}`
  return invalid(`source: ${what}${again ? ', it is asked again after a pause' : ''}`)
}

/** Not the message of the error: it may quote an address with a password. */
function kindOf(error: unknown): string {
  try {
    const { code, name, cause } = (error ?? {}) as { code?: unknown; name?: unknown; cause?: unknown }
    // `fetch` puts what happened one level below.
    const below = ((cause ?? {}) as { code?: unknown }).code
    const kind = [code, below, name].find((each) => typeof each === 'string' && KIND.test(each)) as
      | string
      | undefined
    return kind === undefined ? '' : ` (${kind})`
  } catch {
    // Its getters may throw, too.
    return ''
  }
}

/** `ECONNREFUSED`, `TypeError`; nobody learns anything from `Error`. */
const KIND = /^(?:[A-Z_]{1,40}|[A-Z]\w{1,40}Error)$/
