import { LockError, show } from './errors.ts'
import { isThenable } from './thenable.ts'
import type { Store } from './store.ts'

const STORE_METHODS = ['open', 'acquire', 'renew', 'release', 'list', 'evict', 'close'] as const

/** The client of a database is easily given where a store is wanted. */
export function checkStore(store: Store, where = 'createLocks'): Store {
  const missing = STORE_METHODS.filter(
    (method) => typeof (store as Partial<Store> | null)?.[method] !== 'function',
  )
  if (missing.length === 0) return store
  throw new LockError(
    'INVALID_OPTION',
    `${where}: give ${where === 'createLocks' ? "a URL such as 'sqlite:./locks.db', or " : ''}a store such as ` +
      `memoryStore() or postgresStore(pool), not the client of a database; this ${whatIs(store, missing)}`,
  )
}

function whatIs(given: unknown, missing: readonly string[]): string {
  if (typeof given === 'function') return whatFunction(given)
  if (typeof given !== 'object' || given === null) return `is ${show(given)}`
  if (isThenable(given)) return 'is a promise: await it first'
  if (typeof (given as { attach?: unknown }).attach === 'function')
    return 'is a client that createLocks has made: use it as it is'
  return `has no ${missing.join(', ')}`
}

/** Never its text, which may be long. Some clients of databases are functions, which to call is no help. */
function whatFunction({ name }: { readonly name: string }): string {
  if (!/^\w{1,50}$/.test(name)) return 'is a function'
  if (/^[a-z]\w*Store$/.test(name)) return `is the function ${name}: call it`
  return /^[A-Z]/.test(name)
    ? `is the class ${name}: give one that is made with new`
    : `is the function ${name}`
}
