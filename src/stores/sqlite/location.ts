import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LockError } from '../../errors.ts'

/** The absolute path that a user's `path` or `file:` URL means, or INVALID_OPTION. */
export function locate(given: string): string {
  const path = given.startsWith('file:') ? fromUrl(given) : given
  if (path === '' || path === ':memory:') {
    throw invalid(
      `'${given}' would be a database of this process alone, which other processes cannot share; ` +
        'give the path of a file, or use memoryStore()',
    )
  }
  if (/^sqlite:/i.test(path)) throw invalid(`'${given}' is a URL for createLocks; give the path alone`)
  if (/^~[/\\]/.test(path)) throw invalid(`'${given}': only a shell knows ~; write the folder out`)
  if (path.includes('\0')) throw invalid(`the path ${JSON.stringify(path)} contains a NUL character`)
  // Now, since the process may change its working directory before it opens the file again.
  return resolve(path)
}

function fromUrl(given: string): string {
  if (/[?#]/.test(given)) {
    throw invalid(
      `'${given}': parameters of a file: URL are not supported; open the database with your driver and pass it`,
    )
  }
  try {
    // `file:locks.db`, as SQLite has it, is relative; as a standard URL it would mean /locks.db.
    return given.startsWith('file:/') ? fileURLToPath(given) : decodeURIComponent(given.slice('file:'.length))
  } catch (cause) {
    throw new LockError('INVALID_OPTION', `sqliteStore: '${given}' is not a file: URL of this machine`, {
      cause,
    })
  }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `sqliteStore: ${message}`)
}
