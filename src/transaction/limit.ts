import type { Environment } from '../environment.ts'

/** No answer within the limit. What was asked may have happened, or may happen yet. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'

  constructor(what: string, limitMs: number) {
    super(`${what} within ${Math.round(limitMs)} ms`)
  }
}

/**
 * The outcome of `work`, or TimedOut. What comes later goes to `late`, so that nothing that was lent stays
 * out, and never ends as an unhandled rejection.
 */
export function within<T>(
  env: Environment,
  limit: { readonly ms: number; readonly what: string },
  work: PromiseLike<T>,
  late?: (result: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false
    const timer = env.setTimer(
      Math.max(limit.ms, 1),
      () => {
        over = true
        reject(new TimedOut(limit.what, limit.ms))
      },
      false,
    )
    work.then(
      (result) => {
        env.clearTimer(timer)
        if (over) late?.(result)
        else resolve(result)
      },
      (error: Error) => {
        env.clearTimer(timer)
        reject(error)
      },
    )
  })
}

export function pause(env: Environment, ms: number): Promise<void> {
  return new Promise((resolve) => void env.setTimer(ms, resolve, false))
}
