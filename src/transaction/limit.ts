import { within as bounded } from '../databases/limit.ts'
import type { Environment } from '../environment.ts'

/** No answer within the limit. What was asked may have happened, or may happen yet. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'

  constructor(what: string, limitMs: number) {
    super(`${what} within ${Math.round(limitMs)} ms`)
  }
}

/** As the shared one, on the time of the client whose lock it is. */
export function within<T>(
  env: Environment,
  { ms, what }: { readonly ms: number; readonly what: string },
  work: PromiseLike<T>,
  late?: (result: T) => void,
): Promise<T> {
  return bounded(work, Math.max(ms, 1), () => new TimedOut(what, ms), late, env)
}

export function pause(env: Environment, ms: number): Promise<void> {
  return new Promise((resolve) => void env.setTimer(ms, resolve, false))
}
