import type { LockJson, StreamJson } from '../server/wire.ts'

/** A held key. Its times are counted on this machine from when it was told, so that no two clocks meet. */
export interface Row {
  readonly lock: LockJson
  readonly takenAt: number
  endsAt: number
  /** What a search looks into. */
  readonly text: string
}

export const COLUMNS = [
  'key',
  'service',
  'instance',
  'context',
  'held',
  'remaining',
  'token',
  'wanted',
] as const
export type Column = (typeof COLUMNS)[number]

export interface View {
  readonly search: string
  readonly service: string
  readonly wanted: boolean
  readonly sort: Column
  readonly descending: boolean
}

/** What is held now, as far as the stream has told. */
export class LockTable {
  readonly #rows = new Map<string, Row>()

  get size(): number {
    return this.#rows.size
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key)
  }

  apply(change: StreamJson['locks'], now: number): void {
    if (change.all) this.#rows.clear()
    // First: a key that passed on is named in both.
    for (const { key, grant } of change.freed) {
      if (this.#rows.get(key)?.lock.grant === grant) this.#rows.delete(key)
    }
    for (const lock of change.held) this.#rows.set(lock.key, rowOf(lock, now))
    for (const [key, remainingMs] of change.renewed) {
      const row = this.#rows.get(key)
      if (row) row.endsAt = now + remainingMs
    }
  }

  /** By how many keys they hold. */
  services(): [service: string, held: number][] {
    const counts = new Map<string, number>()
    for (const { lock } of this.#rows.values()) counts.set(lock.service, (counts.get(lock.service) ?? 0) + 1)
    return [...counts].sort(([a, held], [b, other]) => other - held || compare(a, b))
  }

  /** Those held while others want them, the longest held first. */
  wanted(): Row[] {
    return [...this.#rows.values()].filter(({ lock }) => lock.wanted).sort((a, b) => a.takenAt - b.takenAt)
  }

  view({ search, service, wanted, sort, descending }: View): Row[] {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean)
    const rows: Row[] = []
    for (const row of this.#rows.values()) {
      if (wanted && !row.lock.wanted) continue
      if (service !== '' && row.lock.service !== service) continue
      if (words.every((word) => row.text.includes(word))) rows.push(row)
    }
    const by = ORDERS[sort]
    const sign = descending ? -1 : 1
    return rows.sort((a, b) => sign * by(a, b) || compare(a.lock.key, b.lock.key))
  }
}

const ORDERS: Record<Column, (a: Row, b: Row) => number> = {
  key: (a, b) => compare(a.lock.key, b.lock.key),
  service: (a, b) => compare(a.lock.service, b.lock.service),
  instance: (a, b) => compare(a.lock.instance, b.lock.instance),
  context: (a, b) => compare(a.lock.context ?? '', b.lock.context ?? ''),
  held: (a, b) => b.takenAt - a.takenAt,
  remaining: (a, b) => a.endsAt - b.endsAt,
  token: (a, b) => a.lock.grant - b.lock.grant,
  wanted: (a, b) => Number(a.lock.wanted) - Number(b.lock.wanted),
}

export function rowOf(lock: LockJson, now: number): Row {
  return {
    lock,
    takenAt: now - lock.heldMs,
    endsAt: now + lock.remainingMs,
    text: `${lock.key}\n${lock.service}\n${lock.instance}\n${lock.context ?? ''}`.toLowerCase(),
  }
}

// Not by the rules of a language: those take ten times as long, and 10,000 rows are sorted each second.
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
