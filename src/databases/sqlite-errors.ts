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

/** Whether SQLite was to remove a file that another process had removed. */
export function wasRemovedBefore(error: unknown): boolean {
  return error instanceof Error && fullCode(error) === IOERR_DELETE_NOENT
}

// node:sqlite has errcode, libsql rawCode, better-sqlite3 only a name such as SQLITE_BUSY_SNAPSHOT.
function fullCode(error: Error): number | undefined {
  const { errcode, rawCode, code } = error as { errcode?: unknown; rawCode?: unknown; code?: unknown }
  if (code === 'SQLITE_IOERR_DELETE_NOENT') return IOERR_DELETE_NOENT
  const number = errcode ?? rawCode
  return typeof number === 'number' ? number : undefined
}
