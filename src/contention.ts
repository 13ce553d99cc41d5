import type { AnyLease } from './bundle.ts'
import { LockError } from './errors.ts'
import type { Keys } from './key.ts'
import type { Holder } from './store.ts'

/** Not a fault: someone else has the key. */
export class Contention {
  readonly key: string
  readonly waitedMs: number
  /** Who has it, if it is known, and in words. */
  readonly holder: Holder | null
  readonly by: string | null

  constructor(key: string, waitedMs: number, holder: Holder | null, by: string | null) {
    this.key = key
    this.waitedMs = waitedMs
    this.holder = holder
    this.by = by
  }
}

/** What a caller gets of an attempt. Given what it made itself, it gives the same again. */
export type Outcome<T> = (keys: Keys, outcome: AnyLease | Contention) => T

export function leaseOrNull(_keys: Keys, outcome: AnyLease | Contention | null): AnyLease | null {
  return outcome instanceof Contention ? null : outcome
}

export function leaseOrThrow(keys: Keys, outcome: AnyLease | Contention): AnyLease {
  if (!(outcome instanceof Contention)) return outcome
  const { key, waitedMs, by } = outcome
  const of = typeof keys === 'string' ? '' : `, one of ${keys.length} keys,`
  const message = `could not get "${key}"${of} within ${Math.round(waitedMs)} ms${by ? `; it is held by ${by}` : ''}`
  throw new LockError('LOCK_ACQUIRE_TIMEOUT', message, { key })
}
