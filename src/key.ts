import { LockError } from './errors.ts'

export const MAX_KEY_BYTES = 512
/** One call of a store takes as many. */
const MAX_KEYS = 1000

// Control characters break logs, protocols and terminals, and nobody types them on purpose.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Returns the key, or throws INVALID_LOCK_KEY with what to change. */
export function checkKey(key: unknown): string {
  if (typeof key !== 'string') {
    throw invalid(`a lock key must be a string, not ${kindOf(key)}`)
  }
  if (key.length === 0) throw invalid('a lock key must not be empty')
  if (CONTROL.test(key)) {
    throw invalid(`lock key ${shown(key)} contains a control character; remove it`)
  }
  // A lone surrogate has no UTF-8 form: two different keys would meet in the store as one.
  if (!key.isWellFormed()) {
    throw invalid(`lock key ${shown(key)} contains half a surrogate pair; remove it`)
  }
  // A UTF-16 unit takes at most three bytes, so most keys need no count.
  if (key.length * 3 > MAX_KEY_BYTES) {
    const bytes = Buffer.byteLength(key)
    if (bytes > MAX_KEY_BYTES) {
      throw invalid(
        `lock key "${key.slice(0, 40)}…" has ${bytes} bytes of UTF-8, the limit is ${MAX_KEY_BYTES}; ` +
          'hash the long part of it',
      )
    }
  }
  return key
}

/** One key, or several to take together. */
export type Keys = string | readonly string[]

/** Of several keys each once, in the one order in which all take them. One alone is as if it was given alone. */
export function checkKeys(keys: unknown): Keys {
  if (!Array.isArray(keys)) return checkKey(keys)
  const unique = new Set<string>()
  for (const key of keys as readonly unknown[]) {
    unique.add(checkKey(key))
    if (unique.size > MAX_KEYS)
      throw invalid(`at most ${MAX_KEYS} keys can be taken together; lock something larger`)
  }
  if (unique.size === 0) throw invalid('give at least one lock key')
  const [only = '', ...others] = unique
  return others.length === 0 ? only : [only, ...others].sort()
}

function invalid(message: string): LockError {
  return new LockError('INVALID_LOCK_KEY', message)
}

function shown(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}…` : key)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array; only a list of keys may be one, where a call takes several'
  if (typeof value === 'object' && typeof (value as { key?: unknown }).key === 'string') {
    return `an object; to lock its key pass "${(value as { key: string }).key}"`
  }
  return typeof value
}
