import { type Signal, signal } from '@preact/signals'

const TICK_MS = 500

/** `performance.now()`, twice a second while someone can see it. What shows a time that runs reads it. */
export const now: Signal<number> = signal(performance.now())

setInterval(() => {
  if (!document.hidden) now.value = performance.now()
}, TICK_MS)
