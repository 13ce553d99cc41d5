import { type Bug, mutant } from '../mutant.ts'

const MEMORY = 'src/stores/memory.ts'

/** The store that is the model of the others. */
export const MEMORY_BUGS: readonly Bug[] = [
  mutant(
    'a denial tells the whole lease instead of what is left of it',
    MEMORY,
    'retryInMs: entry.expiresAt - now,',
    'retryInMs: entry.leaseMs,',
    'store (acquire|expiry|renew)',
  ),
  mutant(
    'a late copy of an ask shortens the lease',
    MEMORY,
    'entry.expiresAt = Math.max(entry.expiresAt, now + ask.leaseMs)',
    'entry.expiresAt = now + ask.leaseMs',
    'store acquire',
  ),
  mutant(
    'the last grant number is not remembered, the next one is the clock',
    MEMORY,
    'return Math.max(last + 1, Math.floor(now * 1000))',
    'return last >= 0 ? Math.floor(now * 1000) : 1',
    'store grants',
  ),
  mutant(
    'a page begins with the last key of the one before',
    MEMORY,
    'byCodePoint(key, after) > 0',
    'byCodePoint(key, after) >= 0',
    'store list',
  ),
  mutant(
    'a key that came free between its denial and the watch wakes nobody',
    MEMORY,
    'if (!this.#entries.get(key) && watch',
    'if (this.#entries.get(key) && watch',
    'store watch',
  ),
]
