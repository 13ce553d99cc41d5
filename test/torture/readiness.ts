import { type EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves when it works, or has died, which others tell. */
export async function ready(
  name: string,
  child: EventEmitter,
  gone: Promise<void>,
  limitMs: number,
): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  const late = sleep(limitMs, null, { signal }).then(() => {
    throw new Error(`${name} was not ready to work after ${limitMs / 1000} s`)
  })
  // Whichever is not waited for any more ends by the signal.
  const message = once(child, 'message', { signal })
  const ends = [message, late].map((each) =>
    each.catch((error: unknown) => {
      if (!signal.aborted) throw error
    }),
  )
  try {
    await Promise.race([...ends, gone])
  } finally {
    over.abort()
  }
}
