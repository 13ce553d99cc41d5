import { setImmediate, setTimeout } from 'node:timers/promises'
import { isPassing } from './failures.ts'

// Below core's limit for a call, 3 s by default, so that the caller learns what was in the way. A store does not know that
// limit: a longer one does not lengthen this.
const PATIENCE_MS = 2500
const MAX_PAUSE_MS = 10
// On a machine that is starved, most of that time may pass before the first try.
const MIN_TRIES = 8

export function patienceEnd(): number {
  return performance.now() + PATIENCE_MS
}

/**
 * Tries until what stands in the way has passed. SQLite could wait by itself (`busy_timeout`), but it
 * sleeps in this thread: timers, sockets and renewals would all stand still.
 */
export async function patiently<T>(until: number, attempt: (tries: number) => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt(tries)
    } catch (error) {
      const spent = performance.now() >= until && tries + 1 >= MIN_TRIES
      if (spent || !isPassing(error)) throw error
    }
    if (tries === 0) await setImmediate()
    else await setTimeout(Math.min(2 ** tries, MAX_PAUSE_MS) * (0.5 + Math.random()))
  }
}
