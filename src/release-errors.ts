import { LockError } from './errors.ts'

export function releaseFailed(key: string, cause: LockError): LockError {
  const message = `could not tell the store that "${key}" is free; it will be told again until its lease runs out`
  return new LockError('LOCK_RELEASE_FAILED', message, { key, cause })
}

export function lostBeforeRelease(key: string): LockError {
  const message = `the lease on "${key}" was already gone from the store when it was released`
  return new LockError('LOCK_LOST', message, { key })
}
