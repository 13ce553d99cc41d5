import { setTimeout as sleep } from 'node:timers/promises'

const LIMIT_MS = 30_000

/** Waits until nothing is missing: `missing` says what still is, or rejects if that cannot be told yet. */
export async function settled(what: string, missing: () => Promise<string | undefined>): Promise<void> {
  const end = performance.now() + LIMIT_MS
  for (;;) {
    const fault = await missing().catch(String)
    if (fault === undefined) return
    if (performance.now() > end) throw new Error(`${what} did not settle within ${LIMIT_MS} ms: ${fault}`)
    await sleep(25)
  }
}
