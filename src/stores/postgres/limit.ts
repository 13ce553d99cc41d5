import { TimedOut } from './failures.ts'
import { LIMIT_MS } from './database.ts'

/**
 * The outcome of `work`, or a failure after `limitMs`. What comes later goes to `late`, so that nothing that was
 * lent stays out, and never ends as an unhandled rejection.
 */
export function within<T>(
  work: PromiseLike<T>,
  message: () => string,
  late?: (result: T) => void,
  limitMs: number = LIMIT_MS,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false
    const timer = setTimeout(() => {
      over = true
      reject(new TimedOut(message()))
    }, limitMs)
    work.then(
      (result) => {
        clearTimeout(timer)
        if (over) late?.(result)
        else resolve(result)
      },
      (error: Error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
