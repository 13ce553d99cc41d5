import { checkDuration, type Duration } from './duration.ts'
import type { LockError, LockErrorCode } from './errors.ts'
import { checkNames, invalid } from './option-check.ts'

/** Why there is no lock: someone else has it, or the store is down. */
export type FailCause = 'contention' | 'unavailable'

/** Tries again, each time from the end of the line. Then it rejects with the last error. */
export interface RetryStrategy {
  /** How many tries more, after the first. */
  readonly retry: number
  /** The first pause. It doubles each time, up to 10 s; chance takes up to half of it off. Default 100 ms. */
  readonly backoff?: Duration | undefined
  /** For all tries and pauses together. Default 1 minute. */
  readonly limit?: Duration | undefined
}

/** Runs instead of the function, without the lock. The error is first, since arguments may be left out. */
export interface FallbackStrategy<This, Args extends readonly unknown[], Result> {
  readonly fallback: (this: This, error: LockError, ...args: Args) => Result
}

type Fallback = (this: unknown, error: LockError, ...args: unknown[]) => unknown

export interface RetryTerms {
  readonly more: number
  readonly backoffMs: number
  readonly limitMs: number
}

/** `onFail` and `on`, checked and complete. */
export interface FailTerms {
  /** To which errors it applies. */
  readonly codes: readonly LockErrorCode[]
  readonly otherwise: 'throw' | 'null' | Fallback
  readonly retry: RetryTerms | null
}

const CODES: Record<FailCause, LockErrorCode> = {
  contention: 'LOCK_ACQUIRE_TIMEOUT',
  unavailable: 'STORE_UNAVAILABLE',
}
const CAUSES = Object.keys(CODES)

export function checkFailStrategy(onFail: unknown, on: unknown): FailTerms {
  const codes = checkCauses(on)
  if (onFail === undefined || onFail === 'throw') {
    if (on !== undefined) throw invalid('on: it says when onFail applies; give onFail too')
    return { codes, otherwise: 'throw', retry: null }
  }
  if (onFail === 'null') return { codes, otherwise: 'null', retry: null }
  if (typeof onFail !== 'object' || onFail === null)
    throw invalid("onFail: give 'throw', 'null', { retry, backoff, limit } or { fallback }")
  if ('fallback' in onFail) {
    if ('retry' in onFail)
      throw invalid('onFail: give retry or fallback; a fallback can call the function again')
    checkNames('onFail', onFail, ['fallback'])
    if (typeof onFail.fallback !== 'function') throw invalid('onFail: fallback must be a function')
    return { codes, otherwise: onFail.fallback as Fallback, retry: null }
  }
  return { codes, otherwise: 'throw', retry: checkRetry(onFail as RetryStrategy) }
}

function checkCauses(on: unknown): LockErrorCode[] {
  if (on === undefined) return Object.values(CODES)
  if (!Array.isArray(on) || on.length === 0 || !on.every((cause) => CAUSES.includes(cause as string)))
    throw invalid("on: give a list of 'contention', 'unavailable' or both")
  return (on as FailCause[]).map((cause) => CODES[cause])
}

function checkRetry(strategy: RetryStrategy): RetryTerms {
  checkNames('onFail', strategy, ['retry', 'backoff', 'limit'])
  const { retry, backoff = 100, limit = 60_000 } = strategy
  if (!Number.isSafeInteger(retry) || retry < 1)
    throw invalid('onFail: retry must be a whole number from 1 on; it counts the tries after the first')
  return {
    more: retry,
    backoffMs: checkDuration(backoff, { name: 'onFail.backoff', min: 1 }),
    limitMs: checkDuration(limit, { name: 'onFail.limit', min: 1 }),
  }
}
