import type { Pool, Store } from '../store.ts'

/** What the driver tells of its connections. Foreign code: whatever it does, `stats` must not fail. */
export function poolOf(store: Store | null): Pool | null {
  try {
    const pool = store?.pool?.()
    if (!pool) return null
    const { open, idle, waiting } = pool
    return [open, idle, waiting].every((count) => Number.isFinite(count)) ? { open, idle, waiting } : null
  } catch {
    return null
  }
}
