import { LockError } from './errors.ts'
import type { Store } from './store.ts'
import { memoryStore } from './stores/memory.ts'

/** Each loads its store on first use, so that nobody needs a driver for a store they do not have. */
const SCHEMES: Record<string, (rest: string, url: string) => Promise<Store>> = {
  memory: async () => memoryStore(),
  sqlite: async (rest) => (await import('./stores/sqlite/index.ts')).sqliteStore(rest),
}

/** How to get the store that a URL names. An unknown scheme fails at once. */
export function storeLoader(url: string): () => Promise<Store> {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? []
  const load = Object.hasOwn(SCHEMES, scheme.toLowerCase()) ? SCHEMES[scheme.toLowerCase()] : undefined
  if (!load) {
    // Not the URL itself: it may carry a password.
    const what = scheme ? `the scheme '${scheme}:' is unknown` : 'the store URL has no scheme'
    const known = Object.keys(SCHEMES).map((name) => `${name}:`)
    throw new LockError('INVALID_OPTION', `${what}; known are ${known.join(', ')}, or pass a store object`)
  }
  return () => load(rest, url)
}
