import { LockError } from './errors.ts'
import type { Store } from './store.ts'

const STORE_METHODS = ['open', 'acquire', 'renew', 'release', 'list', 'evict', 'close'] as const

/** The client of a database is easily given where a store is wanted. */
export function checkStore(store: Store): Store {
  const missing = STORE_METHODS.filter(
    (method) => typeof (store as Partial<Store> | null)?.[method] !== 'function',
  )
  if (missing.length === 0) return store
  const what =
    typeof store === 'object' && store !== null
      ? `this has no ${missing.join(', ')}`
      : `this is ${String(store)}`
  throw new LockError(
    'INVALID_OPTION',
    `createLocks: give a URL such as 'sqlite:./locks.db', or a store such as memoryStore() or ` +
      `postgresStore(pool), not the client of a database; ${what}`,
  )
}
