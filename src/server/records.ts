import type { LockRecord } from '../store.ts'
import { tokenOf } from '../token.ts'
import type { LockJson } from './wire.ts'

/** A record as it is sent. How long it is held is told by two clocks, that of the store and ours: to look at. */
export function lockJson(record: LockRecord, now: number = Date.now()): LockJson {
  const { key, grant, holder, since, leaseMs, remainingMs, wanted } = record
  return {
    key,
    grant,
    // Text: it is larger than what a browser reads as a number.
    token: String(tokenOf(grant, 0)),
    service: holder.service,
    instance: holder.instance,
    context: holder.context ?? null,
    since: finite(since),
    heldMs: heldMs(since, now),
    leaseMs: finite(leaseMs),
    remainingMs: Math.round(finite(remainingMs)),
    wanted: wanted === true,
  }
}

export function heldMs(since: number, now: number = Date.now()): number {
  return Math.max(0, Math.round(now - finite(since)))
}

/** Core does not look at the times that a store tells, and JSON knows no other numbers. */
function finite(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
