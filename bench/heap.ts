import { setImmediate } from 'node:timers/promises'

/** Needs `--expose-gc`. */
export function collectGarbage(): void {
  if (!globalThis.gc) throw new Error('run node with --expose-gc')
  globalThis.gc()
}

/** Bytes in use once all that can be freed is freed: some of it becomes garbage by a collection. */
export async function settledHeap(): Promise<number> {
  for (let i = 0; i < 5; i += 1) {
    await setImmediate()
    collectGarbage()
  }
  return process.memoryUsage().heapUsed
}
