import { within as bounded } from '../../databases/limit.ts'
import { LIMIT_MS } from './database.ts'
import { TimedOut } from './failures.ts'

/** As the shared one, with the limit of the store and an error that tells the connection to be of no more use. */
export function within<T>(
  work: PromiseLike<T>,
  message: () => string,
  late?: (result: T) => void,
  limitMs: number = LIMIT_MS,
): Promise<T> {
  return bounded(work, limitMs, () => new TimedOut(message()), late)
}
