import { LockError } from '../../errors.ts'

/** Finds mistakes before anything is opened. Never shows the URL: it may carry a password. */
export function checkUrl(url: string, of: string): void {
  if (!/^postgres(ql)?:\/\//i.test(url)) {
    throw invalid(`${of}: the URL must start with postgres:// or postgresql://`)
  }
  // Several hosts are for the driver to read.
  if (!url.includes(',') && !URL.canParse(url)) {
    throw invalid(
      `${of}: the URL cannot be read; write postgres://user:password@host:5432/database, with special characters ` +
        'of the password percent-encoded',
    )
  }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', message)
}
