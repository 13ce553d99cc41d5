import { stat } from 'node:fs/promises'
import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import type { Invocation } from './command.ts'

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

/** For a command that only looks: to open a SQLite file that is not there creates it, and it would show that no key is held. */
export async function withStoreAsIs<T>(
  { openLocks, storeSettings }: Pick<Invocation, 'openLocks' | 'storeSettings'>,
  use: (locks: Locks) => Promise<T>,
): Promise<T> {
  return withLocks(openLocks, async (locks) => {
    // Not for help and completion, which are loaded along.
    const { sqliteFileOf } = await import('../store-url.ts')
    const { url = '' } = (await storeSettings?.()) ?? {}
    const file = sqliteFileOf(url)
    if (file === null || !(await isMissing(file))) return use(locks)
    throw new LockError(
      'STORE_UNAVAILABLE',
      `the sqlite store cannot use ${file}: there is no such file; check the path (the first program that locks creates it)`,
    )
  })
}

/** Not one in a folder that this user may not enter: of that, the store says what is wrong. */
async function isMissing(file: string): Promise<boolean> {
  return stat(file).then(
    () => false,
    (error: { readonly code?: unknown }) => error.code === 'ENOENT',
  )
}
