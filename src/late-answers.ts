import { LockError } from './errors.ts'

export function noAnswer(key: string): LockError {
  return new LockError('STORE_UNAVAILABLE', `the store gave no answer for "${key}" within the wait`, { key })
}

export function tooSlow(key: string, tookMs: number, leaseMs: number): LockError {
  const late = `the store took ${Math.round(tookMs)} ms to answer for "${key}"`
  const message = `${late}, too long for a lease of ${leaseMs} ms: take a longer one`
  return new LockError('STORE_UNAVAILABLE', message, { key })
}
