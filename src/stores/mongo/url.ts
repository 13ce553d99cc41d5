import { LockError } from '../../errors.ts'

/** No @ in the name of the database: what is before it is of a password with a slash. */
const URL = /^mongodb(\+srv)?:\/\/([^/]+)(\/([^?@]*))?(\?.*)?$/is
const HOST = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/

/** The rest is the driver's to check: names of hosts, options and all. */
export function checkMongoUrl(url: string, where: string): void {
  if (URL.test(url) && isDecodable(url) && hostsIn(url).every((host) => HOST.test(host))) return
  // Not the URL itself: it may carry a password.
  throw new LockError(
    'INVALID_OPTION',
    `${where}: write the URL as mongodb://host:27017/database or mongodb+srv://host/database, ` +
      'with special characters of the password percent-encoded',
  )
}

/** As the driver has it. */
export function databaseIn(url: string): string {
  const [, , , , name = ''] = URL.exec(url) ?? []
  return name === '' ? 'test' : decodeURIComponent(name)
}

/** One whose port is no number may be a user and a password, without a host: the driver would quote it. */
function hostsIn(url: string): string[] {
  const [, , authority = ''] = URL.exec(url) ?? []
  const [hosts = ''] = authority.slice(authority.lastIndexOf('@') + 1).split('?')
  return hosts.split(',')
}

function isDecodable(url: string): boolean {
  try {
    databaseIn(url)
    return true
  } catch {
    return false
  }
}
