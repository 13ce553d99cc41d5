import { LockError } from '../errors.ts'

// Blanks, comments and empty statements come first. Each alternative starts with another character, so that a long
// text takes no longer than it must.
const CONTROL =
  /^(?:[\s;]|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i

/**
 * The word by which a statement would begin or end a transaction; null if it does not. Only the start of the text is
 * looked at: what is hidden further on is found at COMMIT, see `STILL_INSIDE`.
 */
export function controlIn(text: unknown): string | null {
  const word = typeof text === 'string' ? CONTROL.exec(text)?.[1] : undefined
  return word === undefined ? null : word.replace(/\s+/, ' ').toUpperCase()
}

export function refusedControl(key: string, word: string): LockError {
  return new LockError(
    'INVALID_OPTION',
    `transaction: ${word} is not for the function of the transaction on "${key}", and was not sent: ` +
      'return to commit, throw to roll back; savepoints are allowed',
    { key },
  )
}

/** What the function wrote may be stored or not, by whatever statement it was that ended the transaction. */
export function endedInside(key: string, cause?: unknown): LockError {
  return new LockError(
    'INVALID_OPTION',
    `transaction: the transaction on "${key}" was no longer there when it was to be committed: a statement of its ` +
      'function has ended it, by COMMIT or ROLLBACK, or an error did that the function hid; what it wrote may be ' +
      'stored or not. Return to commit, throw to roll back',
    { key, cause },
  )
}

const ENDED = 'the transaction was ended inside its function'

/** Goes with BEGIN. It is gone as soon as the transaction is. */
export const MARK: string = `set_config('holdfast.inside', 'yes', true)`

/** Goes with COMMIT, in front of it: fails unless this is still the transaction that was begun. */
export const STILL_INSIDE: string = `select cast(case when current_setting('holdfast.inside', true) = 'yes' then '1'
  else '${ENDED}' end as int)`

/** Whether an answer is that of `STILL_INSIDE`. */
export function isEndedInside(error: unknown): boolean {
  return error instanceof Error && error.message.includes(ENDED)
}
