import { type Signal, signal } from '@preact/signals'
import type { LockStats } from '../monitor/stats.ts'
import type { StatsJson } from '../server/wire.ts'
import { readStats } from './api.ts'
import { Samples } from './samples.ts'
import { refused } from './session.ts'

const PAUSE_MS = 2000

export const stats: Signal<StatsJson | null> = signal(null)
/** Why there are none, or none that are new; null while all is well. */
export const statsError: Signal<string | null> = signal(null)
/** Changes with `stats`. */
export const samples: Samples<LockStats> = new Samples()

let asking: Promise<void> | null = null

/** Every two seconds while someone can see it. */
export function pollStats(): void {
  const ask = (): void => {
    // A server slows down those who come with a wrong token again and again.
    if (!document.hidden && refused.value === null) void askStats()
  }
  setInterval(ask, PAUSE_MS)
  document.addEventListener('visibilitychange', ask)
  refused.subscribe(ask)
}

/** Never two at a time. */
export function askStats(): Promise<void> {
  return (asking ??= ask().finally(() => (asking = null)))
}

async function ask(): Promise<void> {
  try {
    const answer = await readStats()
    samples.push(performance.now(), answer.stats)
    stats.value = answer
    statsError.value = null
  } catch (error) {
    statsError.value = error instanceof Error ? error.message : String(error)
  }
}
