import { type Environment, systemEnvironment } from '../environment.ts'

/** Timers that do not keep the process alive. */
export const backgroundTimers: Pick<Environment, 'setTimer' | 'clearTimer'> = {
  setTimer: (delayMs, run) => systemEnvironment.setTimer(delayMs, run, true),
  clearTimer: (timer) => systemEnvironment.clearTimer(timer),
}

/**
 * The outcome of `work`, or `failure` after `limitMs`. What comes later goes to `late`, so that nothing that was lent
 * stays out, and never ends as an unhandled rejection.
 */
export function within<T>(
  work: PromiseLike<T>,
  limitMs: number,
  failure: () => Error,
  late?: (result: T) => void,
  env: Pick<Environment, 'setTimer' | 'clearTimer'> = systemEnvironment,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false
    const fail = (): void => {
      over = true
      reject(failure())
    }
    const timer = env.setTimer(limitMs, fail, false)
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
