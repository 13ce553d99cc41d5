/** Every failure that holdfast reports, by code. `docs/errors.md` explains each one. */
export const LOCK_ERROR_CODES = [
  'LOCK_ACQUIRE_TIMEOUT',
  'LOCK_ABORTED',
  'LOCK_LOST',
  'LOCK_NOT_HELD',
  'LOCK_RELEASE_FAILED',
  'STORE_UNAVAILABLE',
  'INVALID_LOCK_KEY',
  'INVALID_OPTION',
  'STALE_TOKEN',
  'DEADLOCK',
  'CLOSED',
] as const

export type LockErrorCode = (typeof LOCK_ERROR_CODES)[number]

export interface LockErrorDetails {
  readonly key?: string | undefined
  readonly cause?: unknown
  readonly outcomeUnknown?: boolean
}

/** The one error class. Contention is a value (`tryAcquire` gives null); a fault is one of these. */
export class LockError extends Error {
  override readonly name = 'LockError'
  readonly code: LockErrorCode
  readonly key: string | undefined
  /** True only if COMMIT was sent and its answer is not known: what it wrote may be stored. Look before you repeat. */
  readonly outcomeUnknown: boolean

  constructor(code: LockErrorCode, message: string, details: LockErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.key = details.key
    this.outcomeUnknown = details.outcomeUnknown ?? false
  }
}

/** A value that was given, in a message. Not all objects can be made a text. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'function' ? 'a function' : String(value)
}

/** What a driver says, or SQL to run by hand, may have several. */
export function onOneLine(text: string): string {
  // No pattern: the text may be of others, and one that looks for spaces around a break takes the square of their number.
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** One line for logs and messages, whatever was thrown: drivers throw the strangest things. */
export function describeError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error)
    const message = String(error.message)
    const { code } = error as { code?: unknown }
    return typeof code === 'string' && !message.includes(code) ? `${message} (${code})` : message
  } catch {
    return 'an error that cannot be shown'
  }
}
