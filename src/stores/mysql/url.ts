import { LockError } from '../../errors.ts'

/** Finds mistakes before anything is opened. Never shows the URL: it may carry a password. */
export function checkMysqlUrl(url: string, of: string): void {
  if (!/^(mysql|mariadb):\/\//i.test(url)) {
    throw invalid(`${of}: the URL must start with mysql:// or mariadb://`)
  }
  if (!URL.canParse(url)) {
    throw invalid(
      `${of}: the URL cannot be read; write mysql://user:password@host:3306/database, with special characters of ` +
        'the password percent-encoded',
    )
  }
  if (!/^\/[^/]+$/.test(new URL(url).pathname)) {
    throw invalid(`${of}: the URL names no database; write mysql://user:password@host:3306/database`)
  }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', message)
}
