import { LockError } from './errors.ts'
import type { Store } from './store.ts'
import { memoryStore } from './stores/memory.ts'

interface Scheme {
  /** What is wrong with what follows the colon, if anything. */
  readonly check: (rest: string) => string | null
  readonly load: (rest: string) => Promise<Store>
}

/** Each loads its store on first use, so that nobody needs a driver for a store they do not have. */
const SCHEMES: Record<string, Scheme> = {
  memory: {
    check: (rest) =>
      rest === '' ? null : 'a memory store has no name; give one memoryStore() to all who share it',
    load: async () => memoryStore(),
  },
  sqlite: {
    check: (rest) =>
      /^\/\/(?!\/)/.test(rest) ? "write 'sqlite:./locks.db' or 'sqlite:/var/lib/locks.db'" : null,
    load: async (rest) =>
      (await import('./stores/sqlite/index.ts')).sqliteStore(rest.replace(/^\/\/\//, '/')),
  },
}

/** How to get the store that a URL names. An unknown scheme fails at once. */
export function storeLoader(url: string): () => Promise<Store> {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url) ?? []
  const name = scheme.toLowerCase()
  const found = Object.hasOwn(SCHEMES, name) ? SCHEMES[name] : undefined
  if (!found) {
    // Not the URL itself: it may carry a password.
    const what = scheme ? `the scheme '${scheme}:' is unknown` : 'the store URL has no scheme'
    const known = Object.keys(SCHEMES).map((each) => `${each}:`)
    throw new LockError('INVALID_OPTION', `${what}; known are ${known.join(', ')}, or pass a store object`)
  }
  const wrong = found.check(rest)
  if (wrong) throw new LockError('INVALID_OPTION', `the store URL '${name}:…' is wrong: ${wrong}`)
  return () => found.load(rest)
}
