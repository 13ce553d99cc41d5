import type { Locks } from '../locks.ts'
import type { LockRecord } from '../store.ts'
import { tokenOf } from '../token.ts'
import type { Terminal } from './command.ts'
import { type Column, table } from './table.ts'
import { period } from './text.ts'

const PAGE = 1000

/** All pages, by key. A page may repeat what the one before had, as when a server moves keys. */
export async function readRecords(locks: Locks, prefix: string | undefined): Promise<LockRecord[]> {
  const found = new Map<string, LockRecord>()
  let after: string | null = null
  do {
    const page = await locks.list({ limit: PAGE, prefix, after: after ?? undefined })
    for (const record of page.locks) found.set(record.key, record)
    after = page.next
  } while (after !== null)
  return [...found.values()].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

/** The first token of the grant: the process that holds it may have passed it on among its own tasks. */
export function firstToken({ grant }: LockRecord): string {
  return String(tokenOf(grant, 0))
}

/** The clock of the store against the one of this machine: good enough to look at. */
export function heldForMs({ since }: LockRecord, now: number = Date.now()): number {
  return Math.max(0, now - since)
}

/** As JSON. A token is text: it is larger than what other programs read as a number. */
export function recordJson(record: LockRecord): object {
  const { key, grant, holder, since, leaseMs, remainingMs, wanted } = record
  const time = new Date(since)
  return {
    key,
    service: holder.service,
    instance: holder.instance,
    context: holder.context,
    since: Number.isNaN(time.getTime()) ? null : time.toISOString(),
    leaseMs,
    remainingMs: Math.round(remainingMs),
    grant,
    token: firstToken(record),
    wanted,
  }
}

const COLUMNS: readonly Column<LockRecord>[] = [
  { title: 'KEY', cell: ({ key }) => key, least: 10 },
  { title: 'SERVICE', cell: ({ holder }) => holder.service, least: 6 },
  { title: 'INSTANCE', cell: ({ holder }) => holder.instance, least: 6 },
  { title: 'HELD', cell: (record) => period(heldForMs(record)), right: true },
  { title: 'LEFT', cell: ({ remainingMs }) => period(remainingMs), right: true },
  { title: 'TOKEN', cell: firstToken, right: true },
  { title: 'WANTED', cell: ({ wanted }) => (wanted ? 'yes' : '') },
  { title: 'CONTEXT', cell: ({ holder }) => holder.context ?? '', least: 7 },
]

export function recordLines(records: readonly LockRecord[], terminal: Terminal): string[] {
  if (records.length === 0) return ['no key is held']
  return table(records, COLUMNS, terminal)
}
