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
  const fault = faultOf(key)
  if (fault) throw invalid(`lock key ${shown(key)} ${fault.what}; ${fault.remedy}`)
  return key
}

/** What is wrong with a text as a key, or as a part of one, in words that do not show it. */
export function faultOf(text: string): { readonly what: string; readonly remedy: string } | null {
  if (CONTROL.test(text)) return { what: 'contains a control character', remedy: 'remove it' }
  // A lone surrogate has no UTF-8 form: two different keys would meet in the store as one.
  if (!text.isWellFormed()) return { what: 'contains half a surrogate pair', remedy: 'remove it' }
  // A UTF-16 unit takes at most three bytes, so most keys need no count.
  if (text.length * 3 <= MAX_KEY_BYTES) return null
  const bytes = Buffer.byteLength(text)
  if (bytes <= MAX_KEY_BYTES) return null
  return {
    what: `has ${bytes} bytes of UTF-8, the limit is ${MAX_KEY_BYTES}`,
    remedy: 'hash the long part of it',
  }
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
