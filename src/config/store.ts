import { LockError } from '../errors.ts'
import type { Store } from '../store.ts'
import { KNOWN_SCHEMES, storeLoader } from '../store-url.ts'
import type { Problems } from './problems.ts'
import type { StoreConfig, StoreSettings } from './settings.ts'

interface Kind {
  readonly name: string
  readonly scheme: RegExp
  readonly options: readonly string[]
  /** Makes the store and opens nothing. */
  readonly make: (url: string, options: object) => Promise<Store>
}

const KINDS: readonly Kind[] = [
  {
    name: 'Redis',
    scheme: /^(redis|valkey)s?(\+sentinel|\+cluster)?:/i,
    options: ['prefix', 'replicas', 'push'],
    make: async (url, options) => (await import('../stores/redis/index.ts')).redisStore(url, options),
  },
  {
    name: 'PostgreSQL',
    scheme: /^postgres(ql)?:/i,
    options: ['schema', 'table', 'keep', 'create', 'listen'],
    make: async (url, options) => (await import('../stores/postgres/index.ts')).postgresStore(url, options),
  },
  {
    name: 'MySQL',
    scheme: /^(mysql|mariadb):/i,
    options: ['database', 'table', 'keep', 'create'],
    make: async (url, options) => (await import('../stores/mysql/index.ts')).mysqlStore(url, options),
  },
  {
    name: 'MongoDB',
    scheme: /^mongodb(\+srv)?:/i,
    options: ['database', 'collection', 'keep'],
    make: async (url, options) => (await import('../stores/mongo/index.ts')).mongoStore(url, options),
  },
  {
    name: 'SQLite',
    scheme: /^sqlite:/i,
    options: ['table'],
    make: async (url, options) =>
      (await import('../stores/sqlite/index.ts')).sqliteStore(
        url.replace(/^sqlite:(\/\/(?=\/))?/i, ''),
        options,
      ),
  },
  {
    name: 'memory',
    scheme: /^memory:/i,
    options: [],
    make: async () => (await import('../stores/memory.ts')).memoryStore(),
  },
]

/** The store that the settings describe, not opened yet. Null if there are problems. */
export async function storeOf(store: StoreConfig, problems: Problems): Promise<Store | null> {
  const { url, ...options } = store
  if (url === undefined) {
    problems.add(['store'], "missing, give a URL such as 'postgres://host/database', or set HOLDFAST_STORE")
    return null
  }
  const kind = KINDS.find(({ scheme }) => scheme.test(url))
  if (!kind) {
    // Not what it begins with: a URL that lacks its scheme begins with a user, or with a password.
    problems.add(['store', 'url'], `it must begin with one of ${KNOWN_SCHEMES}`)
    return null
  }
  try {
    storeLoader(url)
  } catch (error) {
    problems.add(['store', 'url'], told(error, store))
    return null
  }
  const strange = Object.keys(options).filter((name) => !kind.options.includes(name))
  for (const name of strange) {
    const others = kind.options.join(', ') || 'none'
    problems.add(['store', name], `a ${kind.name} store has no such option, its options are: ${others}`)
  }
  if (strange.length > 0) return null
  try {
    return await kind.make(url, options)
  } catch (error) {
    problems.add(['store'], told(error, store))
    return null
  }
}

/** Two that are the same store with the same options. Never to be shown. */
export function sameStore(one: StoreSettings | null, other: StoreSettings | null): boolean {
  return sorted(one) === sorted(other)
}

function sorted(store: StoreSettings | null): string {
  return JSON.stringify(Object.entries(store ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** What a store says about its own options, without the options. */
function told(error: unknown, store: StoreConfig): string {
  if (!(error instanceof LockError)) throw error
  const message = error.message.replace(/^\w+: /, '').replaceAll('; ', ', ')
  const values = Object.values(store).filter((value) => typeof value === 'string' && value.length > 3)
  return values.reduce<string>((text, value) => text.replaceAll(String(value), '<not shown>'), message)
}
