import { isSqliteBusy } from '../../databases/sqlite.ts'
import { resultName, wasRemovedBefore } from '../../databases/sqlite-errors.ts'
import { describeError, LockError } from '../../errors.ts'

/** The path leads to another file than the open one, or to none. */
export class FileMoved extends Error {
  constructor(path: string) {
    super(`${path} was deleted or replaced again and again`)
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  BUSY: 'another connection keeps a transaction open; end it, and keep long transactions out of this file',
  LOCKED: 'another connection keeps a transaction open; end it, and keep long transactions out of this file',
  READONLY: 'it is read-only; let this user write to the file and to its folder',
  IOERR: 'reading or writing failed; check the disk',
  CORRUPT: 'it is damaged; stop all processes that use it, then delete it with its -wal and -shm files',
  FULL: 'the disk is full; free some space',
  CANTOPEN: 'it cannot be opened; check that the path is a file in a folder where this user may write',
  NOTADB: 'it is not a SQLite database; give the path of another file',
}

/** Whether another connection is in the way for a moment. PROTOCOL: too many openers at once. */
export function isBusy(error: unknown): boolean {
  return isSqliteBusy(error) || resultName(error) === 'PROTOCOL'
}

/** Whether a statement does not fit the table. */
export function isMisfit(error: unknown): boolean {
  const name = resultName(error)
  return name === 'ERROR' || name === 'CONSTRAINT'
}

/** Whether trying again soon may help. */
export function isPassing(error: unknown): boolean {
  // Two processes that open a deleted file at once both remove its old log; one finds it gone.
  return isBusy(error) || error instanceof FileMoved || wasRemovedBefore(error)
}

/** What the caller sees: what is wrong with which file, and what to do. */
export function asLockError(error: unknown, file: string): LockError {
  if (error instanceof LockError) return error
  const remedy = REMEDIES[resultName(error) ?? '']
  const why = remedy ? `${remedy} (${describeError(error)})` : describeError(error)
  return new LockError('STORE_UNAVAILABLE', `the sqlite store cannot use ${file}: ${why}`, { cause: error })
}

export function closedError(): LockError {
  return new LockError('CLOSED', 'the sqlite store is closed; create a new one')
}
