import { isIPv6 } from 'node:net'
import { LockError } from '../../errors.ts'

export interface RedisAddress {
  readonly host: string
  readonly port: number
}

/** What a URL says, read once for all clients: each has its own idea of what else to accept. */
export interface RedisUrl {
  readonly kind: 'server' | 'sentinel' | 'cluster'
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  /** One server; or the sentinels, or nodes of the cluster, at least one of them. */
  readonly addresses: readonly RedisAddress[]
  /** What the sentinels call the master. */
  readonly master: string
  readonly database: number
}

const FORM = /^(?:redis|valkey)(s?)(\+sentinel|\+cluster)?:\/\/([^/?#]*)(?:\/([^?#]*))?(.*)$/i
const ADDRESS = /^(\[[^\]]*\]|[^:[\]\s]+)(?::(\d+))?$/
const EXAMPLES = {
  server: 'redis://user:password@host:6379/0',
  sentinel: 'redis+sentinel://user:password@host1:26379,host2:26379/name-of-the-master/0',
  cluster: 'redis+cluster://user:password@host1:6379,host2:6379',
}

/** Finds mistakes before anything is opened. Never shows the URL: it may carry a password. */
export function checkRedisUrl(url: string, who: string): void {
  readRedisUrl(url, who)
}

export function readRedisUrl(url: string, who: string): RedisUrl {
  const [, tls, suffix, authority = '', path = '', rest] = FORM.exec(url) ?? []
  if (tls === undefined) {
    throw invalid(
      who,
      'the URL must start with redis://, redis+sentinel:// or redis+cluster://, or with rediss for TLS',
    )
  }
  const kind = ((suffix ?? '+server').slice(1).toLowerCase() as RedisUrl['kind']) || 'server'
  if (rest !== '') throw invalid(who, 'a Redis URL takes no parameters; pass a client that has them')
  const at = authority.lastIndexOf('@')
  const [username, password] = loginOf(authority.slice(0, Math.max(at, 0)), kind, who)
  const addresses = authority
    .slice(at + 1)
    .split(',')
    .map((address) => addressOf(address, kind, who))
  if (kind === 'server' && addresses.length > 1) {
    throw invalid(who, `several hosts are for ${EXAMPLES.sentinel} and ${EXAMPLES.cluster}`)
  }
  const parts = path.split('/')
  const master = kind === 'sentinel' ? decoded(parts.shift() ?? '', kind, who) : ''
  if (kind === 'sentinel' && master === '')
    throw unreadable(kind, who, 'does not say what the sentinels call the master')
  return {
    kind,
    tls: tls !== '',
    username,
    password,
    addresses,
    master,
    database: databaseOf(parts, kind, who),
  }
}

function loginOf(login: string, kind: RedisUrl['kind'], who: string): (string | undefined)[] {
  const colon = login.indexOf(':')
  const [username, password] = colon < 0 ? [login, ''] : [login.slice(0, colon), login.slice(colon + 1)]
  return [decoded(username, kind, who) || undefined, decoded(password, kind, who) || undefined]
}

function addressOf(address: string, kind: RedisUrl['kind'], who: string): RedisAddress {
  const [, host = '', port = kind === 'sentinel' ? '26379' : '6379'] = ADDRESS.exec(address) ?? []
  const bare = host.replace(/^\[|\]$/g, '')
  if (host === '' || (host !== bare && !isIPv6(bare)))
    throw unreadable(kind, who, 'has no host, or one that cannot be read')
  if (Number(port) < 1 || Number(port) > 65_535) throw unreadable(kind, who, 'has a port that is none')
  return { host: bare, port: Number(port) }
}

function databaseOf(
  [database = '', ...more]: readonly string[],
  kind: RedisUrl['kind'],
  who: string,
): number {
  if (!/^\d{0,6}$/.test(database) || more.some((part) => part !== '')) {
    throw unreadable(kind, who, 'names a database that is not a number')
  }
  if (kind === 'cluster' && Number(database) !== 0) throw invalid(who, 'a cluster has only database 0')
  return Number(database)
}

function decoded(part: string, kind: RedisUrl['kind'], who: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw unreadable(kind, who, 'has a % that is not followed by two digits')
  }
}

function unreadable(kind: RedisUrl['kind'], who: string, why: string): LockError {
  return invalid(
    who,
    `the URL ${why}; write ${EXAMPLES[kind]}, with special characters of the password percent-encoded`,
  )
}

function invalid(who: string, message: string): LockError {
  return new LockError('INVALID_OPTION', `${who}: ${message}`)
}
