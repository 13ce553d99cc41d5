import { LockError } from '../errors.ts'
import type { Lease } from '../lease.ts'

/**
 * Runs `work` in a transaction of its own making: begins, calls it, commits if it resolves and rolls back if
 * it rejects. The lease is for its time limit.
 */
export type TransactionManager<X> = (
  // So that a manager may name the result, or leave it open; it is the function's own in any case.
  // oxlint-disable-next-line typescript/no-explicit-any
  work: (tx: X) => Promise<any>,
  lease: Lease,
) => PromiseLike<unknown>

interface Progress<T> {
  running: Promise<T> | null
  last: { readonly value: T } | { readonly error: unknown } | null
  misuse: LockError | null
  over: boolean
}

/**
 * What `attempt` did last is what counts, whatever the manager makes of it: an error that the manager swallows
 * is still one. It may call `work` again after it has ended, as for a serialization conflict. We wait for it to
 * end, however long it takes: the lock is the outermost.
 */
export async function runManaged<X, T>(
  key: string,
  manager: TransactionManager<X>,
  lease: Lease,
  attempt: (tx: X) => Promise<T>,
): Promise<T> {
  const progress: Progress<T> = { running: null, last: null, misuse: null, over: false }
  const run = async (tx: X): Promise<T> => {
    try {
      const value = await attempt(tx)
      progress.last = { value }
      return value
    } catch (error) {
      progress.last = { error }
      throw error
    } finally {
      progress.running = null
    }
  }
  const work = (tx: X): Promise<T> => {
    if (progress.over) return Promise.reject(wrong(key, 'called the work after it had ended'))
    if (!progress.running) return (progress.running = run(tx))
    progress.misuse = wrong(
      key,
      'called the work again while it was running; call it again after it has failed',
    )
    return Promise.reject(progress.misuse)
  }
  let failure: { readonly error: unknown } | null = null
  try {
    await manager(work, lease)
  } catch (error) {
    failure = { error }
  }
  progress.over = true
  const { running } = progress
  // As after any body, the key is free only when nothing runs under it any more.
  if (running) await running.then(undefined, () => undefined)
  const { last, misuse } = progress
  if (running)
    throw failure ? failure.error : wrong(key, 'resolved before the work had ended; return its promise')
  if (misuse) throw misuse
  if (last && 'error' in last) throw failure ? last.error : swallowed(last.error)
  if (failure) throw failure.error
  if (!last) throw wrong(key, 'resolved without having called the work')
  return last.value
}

function wrong(key: string, what: string): LockError {
  return new LockError('INVALID_OPTION', `transaction: the transaction manager for "${key}" ${what}`, { key })
}

/** A refusal of ours says as a rule that nothing is stored; here the manager may have committed. */
function swallowed(error: unknown): unknown {
  if (!(error instanceof LockError)) return error
  const message = `${error.message}; but the transaction manager went on as if all was well, and may have committed`
  return new LockError(error.code, message, { key: error.key, cause: error })
}
