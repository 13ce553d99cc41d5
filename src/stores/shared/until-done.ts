import { setTimeout } from 'node:timers/promises'

const MAX_PAUSE_MS = 50

/** Takes a step again while it fails for what passes, such as a deadlock, until `limitMs` is over. */
export async function untilDone<T>(
  limitMs: number,
  passes: (error: unknown) => boolean,
  step: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + limitMs
  for (let tries = 1; ; tries += 1) {
    try {
      return await step()
    } catch (error) {
      if (!passes(error) || performance.now() > until) throw error
    }
    await setTimeout(Math.random() * Math.min(2 ** tries, MAX_PAUSE_MS))
  }
}
