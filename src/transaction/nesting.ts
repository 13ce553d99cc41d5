import { AsyncLocalStorage } from 'node:async_hooks'
import { type Enclosing, innermost } from '../enclosing.ts'
import { LockError } from '../errors.ts'

/** A transaction that the running code is inside of. */
interface Level extends Enclosing<Level> {
  readonly keys: readonly string[]
  /** One connection, not a pool: it has no place for a second transaction. */
  readonly connection: object | null
  readonly guard: object | null
  open: boolean
}

const levels = new AsyncLocalStorage<Level>()

/**
 * Runs a transaction, unless it would wait for one around this call: for its only connection, or for the row
 * of the guard that it has locked. The database cannot see such a deadlock, since half of it is here.
 */
export async function nested<T>(
  { keys, connection, guard }: Pick<Level, 'keys' | 'connection' | 'guard'>,
  run: () => Promise<T>,
): Promise<T> {
  const outer = innermost(levels.getStore(), ({ open }) => !open)
  for (let around = outer; around; around = around.outer) {
    if (connection !== null && around.connection === connection)
      throw deadlock(keys[0] ?? '', 'its connection')
    const shared = guard !== null && around.guard === guard && keys.find((key) => around.keys.includes(key))
    if (shared) throw deadlock(shared, 'its guard')
  }
  const level: Level = { keys, connection, guard, outer, open: true }
  try {
    return await levels.run(level, run)
  } finally {
    level.open = false
  }
}

function deadlock(key: string, what: string): LockError {
  return new LockError(
    'DEADLOCK',
    `the transaction on "${key}" would wait for the transaction around it, which has ${what}; ` +
      'do the work in that one',
    { key },
  )
}
