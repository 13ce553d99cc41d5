import { onAbort } from '../abort.ts'
import type { Environment } from '../environment.ts'
import { LockError } from '../errors.ts'
import type { RetryTerms } from '../fail-strategy.ts'

const MAX_PAUSE_MS = 10_000

export interface RetryKeeping {
  readonly env: Environment
  /** What is attached is ended first when the client closes; the result detaches it. */
  readonly attach: (end: () => void) => () => void
}

interface Tries<T> {
  /** How long one try waits, unless less time is left. */
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
  readonly enter: (waitMs: number) => Promise<T>
  readonly applies: (error: unknown) => error is LockError
}

/** Each try waits for no longer than is left of the limit. */
export async function retrying<T>(keeping: RetryKeeping, terms: RetryTerms, tries: Tries<T>): Promise<T> {
  const { env } = keeping
  const start = env.now()
  for (let count = 1; ; count += 1) {
    const leftMs = terms.limitMs - (env.now() - start)
    try {
      return await tries.enter(Math.min(tries.waitMs, Math.max(1, leftMs)))
    } catch (error) {
      if (!tries.applies(error)) throw error
      const longestMs = Math.min(terms.backoffMs * 2 ** (count - 1), MAX_PAUSE_MS)
      const pauseMs = longestMs * (0.5 + env.random() / 2)
      const elapsedMs = env.now() - start
      if (count > terms.more || elapsedMs + pauseMs >= terms.limitMs) throw gaveUp(error, count, elapsedMs)
      await pause(keeping, pauseMs, tries.signal)
    }
  }
}

/** Ends early if the signal aborts or the client closes: the next try says so better. */
function pause(keeping: RetryKeeping, ms: number, signal: AbortSignal | undefined): Promise<void> {
  // Else it would end before it knows what to undo.
  if (signal?.aborted) return Promise.resolve()
  const { env, attach } = keeping
  return new Promise((resolve) => {
    const end = (): void => {
      env.clearTimer(timer)
      stopListening?.()
      detach()
      resolve()
    }
    const detach = attach(end)
    const timer = env.setTimer(ms, end, false)
    const stopListening = signal && onAbort(signal, end)
  })
}

function gaveUp(error: LockError, tries: number, ms: number): LockError {
  const message = `${error.message}; gave up after ${tries} tries in ${Math.round(ms)} ms`
  return new LockError(error.code, message, { key: error.key, cause: error })
}
