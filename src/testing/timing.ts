/**
 * Time in the suite. A busy machine may run any timer hundreds of milliseconds late, so no test says
 * "by now it has not happened yet" after a sleep. What is measured is bounded from the safe side:
 * a lease began no later than its grant was received, and no earlier than it was asked for.
 */

/** Monotonic milliseconds. */
export function now(): number {
  return performance.now()
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Lets input and output go on, without waiting for a timer. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Asks again and again until the answer is neither false, null nor undefined. */
export async function until<T>(
  what: string,
  capMs: number,
  ask: () => T | Promise<T>,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = now() + capMs
  for (;;) {
    const answer = await ask()
    if (answer !== false && answer !== null && answer !== undefined) {
      return answer as NonNullable<Exclude<T, false>>
    }
    if (now() > end) throw new Error(`waited ${capMs} ms in vain for: ${what}`)
    await sleep(10)
  }
}

/** Rejects if `work` has not settled in time; the work itself goes on. */
export async function within<T>(what: string, capMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${capMs} ms: ${what}`)), capMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
