import { LockError } from '../../errors.ts'

const URL = /^mongodb(\+srv)?:\/\/[^/]+(\/([^?]*))?(\?.*)?$/is

/** The rest is the driver's to check: hosts, options and all. */
export function checkMongoUrl(url: string, where: string): void {
  if (URL.test(url) && isDecodable(url)) return
  // Not the URL itself: it may carry a password.
  throw new LockError(
    'INVALID_OPTION',
    `${where}: write the URL as mongodb://host:27017/database or mongodb+srv://host/database`,
  )
}

/** As the driver has it. */
export function databaseIn(url: string): string {
  const [, , , name = ''] = URL.exec(url) ?? []
  return name === '' ? 'test' : decodeURIComponent(name)
}

function isDecodable(url: string): boolean {
  try {
    databaseIn(url)
    return true
  } catch {
    return false
  }
}
