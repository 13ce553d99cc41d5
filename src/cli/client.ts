import type { Locks } from '../locks.ts'

/** Closes the client whatever happens. */
export async function withLocks<T>(
  openLocks: () => Promise<Locks>,
  use: (locks: Locks) => Promise<T>,
): Promise<T> {
  const locks = await openLocks()
  try {
    return await use(locks)
  } finally {
    await locks.close()
  }
}
