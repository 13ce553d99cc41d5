import type { StoreLoader } from './connection.ts'
import { LockError } from './errors.ts'
import type { Store } from './store.ts'
import { memoryStore } from './stores/memory.ts'
import { checkMongoUrl } from './stores/mongo/url.ts'
import { checkMysqlUrl } from './stores/mysql/url.ts'
import { checkUrl } from './stores/postgres/url.ts'
import { checkRedisUrl } from './stores/redis/url.ts'
import { locate } from './stores/sqlite/location.ts'

interface Scheme {
  /** Throws if what follows the colon is wrong. */
  readonly check: (rest: string) => void
  /** On first use, so that nobody needs a driver for a store they do not have. */
  readonly load: (rest: string) => Promise<Store>
}

const postgres: Scheme = {
  check: (rest) => checkUrl(`postgres:${rest}`, 'createLocks'),
  load: async (rest) => (await import('./stores/postgres/index.ts')).postgresStore(`postgres:${rest}`),
}

/** Sentinel and Cluster have schemes of their own, and so has TLS. */
function redis(scheme: string): Scheme {
  return {
    check: (rest) => checkRedisUrl(`${scheme}:${rest}`, 'createLocks'),
    load: async (rest) => (await import('./stores/redis/index.ts')).redisStore(`${scheme}:${rest}`),
  }
}

function mongo(scheme: string): Scheme {
  return {
    check: (rest) => checkMongoUrl(`${scheme}:${rest}`, 'createLocks'),
    load: async (rest) => (await import('./stores/mongo/index.ts')).mongoStore(`${scheme}:${rest}`),
  }
}

/** MariaDB has a scheme of its own. */
function mysql(scheme: string): Scheme {
  return {
    check: (rest) => checkMysqlUrl(`${scheme}:${rest}`, 'createLocks'),
    load: async (rest) => (await import('./stores/mysql/index.ts')).mysqlStore(`${scheme}:${rest}`),
  }
}

const REDIS = ['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster', 'rediss+cluster']
const VALKEY = REDIS.map((scheme) => scheme.replace('redis', 'valkey'))

const SCHEMES: Record<string, Scheme> = {
  memory: {
    check: (rest) => {
      if (rest !== '') throw invalid('a memory store has no name; give one memoryStore() to all who share it')
    },
    load: async () => memoryStore(),
  },
  sqlite: {
    check: (rest) => {
      if (/^\/\/(?!\/)/.test(rest)) throw invalid("write 'sqlite:./locks.db' or 'sqlite:/var/lib/locks.db'")
      if (rest.includes('?'))
        throw invalid('a sqlite: URL takes no parameters; for a path with ? use sqliteStore(path)')
      locate(pathOf(rest))
    },
    load: async (rest) => (await import('./stores/sqlite/index.ts')).sqliteStore(pathOf(rest)),
  },
  postgres,
  postgresql: postgres,
  mysql: mysql('mysql'),
  mariadb: mysql('mariadb'),
  ...Object.fromEntries([...REDIS, ...VALKEY].map((scheme) => [scheme, redis(scheme)])),
  mongodb: mongo('mongodb'),
  'mongodb+srv': mongo('mongodb+srv'),
}

/** With their colons, for messages. */
export const KNOWN_SCHEMES: string = Object.keys(SCHEMES)
  .map((scheme) => `${scheme}:`)
  .join(', ')

/** How to get the store that a URL names. A wrong URL fails at once. */
export function storeLoader(url: string): StoreLoader {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? []
  const name = scheme.toLowerCase()
  const found = Object.hasOwn(SCHEMES, name) ? SCHEMES[name] : undefined
  if (!found) {
    // Not the URL itself: it may carry a password.
    const what = scheme ? `the scheme '${scheme}:' is unknown` : 'the store URL has no scheme'
    throw invalid(`${what}; known are ${KNOWN_SCHEMES}, or pass a store object`)
  }
  found.check(rest)
  return { name, load: () => found.load(rest) }
}

/** The file that a `sqlite:` URL names; null for one of another store. */
export function sqliteFileOf(url: string): string | null {
  const [, rest] = /^sqlite:(.*)$/is.exec(url) ?? []
  return rest === undefined ? null : locate(pathOf(rest))
}

/** `sqlite:///var/lib/locks.db` is a common way to write an absolute path. */
function pathOf(rest: string): string {
  return rest.replace(/^\/\/\//, '/')
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `createLocks: ${message}`)
}
