import { randomFillSync } from 'node:crypto'

/**
 * All that core takes from outside a store: time, timers, randomness. Injected, so that a test moves
 * time by hand and the simulation runs many processes with clocks of their own from one seed.
 */
export interface Environment {
  /** Monotonic milliseconds with a fraction. Only differences mean anything. */
  now(): number
  /** Never early by `now()`. A `background` timer does not keep the process alive. */
  setTimer(delayMs: number, run: () => void, background: boolean): Timer
  clearTimer(timer: Timer): void
  /** Runs a few promise jobs later, before any input or output. */
  defer(run: () => void): void
  /** Uniform in [0, 1). For jitter only. */
  random(): number
  /** Unguessable and never repeated: it is the proof of ownership. */
  newId(): string
}

/** Beyond this, `setTimeout` fires at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/** Keeps the process alive until the result is called: all else that will happen may be in the background. */
export function keepAwake(env: Environment): () => void {
  let timer: Timer
  // One timer lasts 24.8 days; a leader may lead for longer.
  const arm = (): void => void (timer = env.setTimer(LONGEST_TIMER_MS, arm, false))
  arm()
  return () => env.clearTimer(timer)
}

/** Opaque: whatever the environment's `setTimer` returned. */
export type Timer = unknown

export const systemEnvironment: Environment = {
  // performance.now() is monotonic: it ignores steps of the wall clock. It may stand still while the
  // whole machine is suspended; then only the fencing token protects the resource.
  now: () => performance.now(),
  setTimer(delayMs, run, background) {
    // Node cuts the fraction off the delay, and off the time that it counts from: a timer of 10 ms may fire after 9.1.
    const timer = setTimeout(run, Math.min(Math.ceil(delayMs) + 1, LONGEST_TIMER_MS))
    if (background) timer.unref()
    return timer
  },
  clearTimer(timer) {
    clearTimeout(timer as NodeJS.Timeout)
  },
  // Tasks that resume together get here together, so every call they make is gathered, without the delay of a timer.
  // `nextTick` would gather more, but costs a task that is alone with its call ten times as much.
  defer(run) {
    void resolved.then(nothing).then(nothing).then(run)
  },
  random: Math.random,
  newId,
}

const resolved = Promise.resolve()
const nothing = (): void => {}

const ID_BYTES = 16
const pool = Buffer.alloc(256 * ID_BYTES)
let used = pool.length

// As random as randomUUID(), in one flat string of 22 characters instead of a rope of thirteen: a
// process may hold ten thousand of them.
function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += ID_BYTES
  return pool.toString('base64url', used - ID_BYTES, used)
}
