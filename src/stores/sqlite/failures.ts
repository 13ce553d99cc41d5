import { describeError, LockError } from '../../errors.ts'

/** The path leads to another file than the open one, or to none. */
export class FileMoved extends Error {
  constructor(path: string) {
    super(`${path} was deleted or replaced again and again`)
  }
}

// Primary result codes, https://sqlite.org/rescode.html; the higher bits of a code only refine it.
const RESULT_NAMES: Readonly<Record<number, string>> = {
  1: 'ERROR',
  5: 'BUSY',
  6: 'LOCKED',
  8: 'READONLY',
  10: 'IOERR',
  11: 'CORRUPT',
  13: 'FULL',
  14: 'CANTOPEN',
  15: 'PROTOCOL',
  19: 'CONSTRAINT',
  26: 'NOTADB',
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

const IOERR_DELETE_NOENT = 5898

/** BUSY, READONLY and so on, whichever driver threw; undefined if it was not SQLite. */
export function resultName(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const name = RESULT_NAMES[(fullCode(error) ?? 0) & 0xff]
  if (name) return name
  const { code } = error as { code?: unknown }
  const named = typeof code === 'string' ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined
  // libsql tells why a file cannot be opened only in words: "…: 14".
  return named ?? (/Unable to open .*: 14\b/.test(error.message) ? 'CANTOPEN' : undefined)
}

// node:sqlite has errcode, libsql rawCode, better-sqlite3 only a name such as SQLITE_BUSY_SNAPSHOT.
function fullCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  const { errcode, rawCode, code } = error as { errcode?: unknown; rawCode?: unknown; code?: unknown }
  if (code === 'SQLITE_IOERR_DELETE_NOENT') return IOERR_DELETE_NOENT
  const number = errcode ?? rawCode
  return typeof number === 'number' ? number : undefined
}

/** Whether another connection is in the way for a moment. PROTOCOL: too many openers at once. */
export function isBusy(error: unknown): boolean {
  const name = resultName(error)
  return name === 'BUSY' || name === 'LOCKED' || name === 'PROTOCOL'
}

/** Whether a statement does not fit the table. */
export function isMisfit(error: unknown): boolean {
  const name = resultName(error)
  return name === 'ERROR' || name === 'CONSTRAINT'
}

/** Whether trying again soon may help. */
export function isPassing(error: unknown): boolean {
  // Two processes that open a deleted file at once both remove its old log; one finds it gone.
  return isBusy(error) || error instanceof FileMoved || fullCode(error) === IOERR_DELETE_NOENT
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
