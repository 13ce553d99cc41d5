import type {
  Answer,
  Ask,
  Claim,
  Holder,
  ListQuery,
  LockPage,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
} from '../../src/store.ts'
import type { Fact } from './facts.ts'

export interface ModelRecord {
  readonly key: string
  readonly owner: string
  readonly holder: Holder
  grant: number
  /** On the server's clock, as all times here. */
  readonly since: number
  leaseMs: number
  expiresAt: number
  wanted: boolean
}

/**
 * The server: the store contract in its plainest form, on one clock, with every decision noted. Kept
 * apart from `memoryStore`, so that a mistake there cannot hide a mistake of core here.
 */
export class ModelStore {
  readonly records: Map<string, ModelRecord> = new Map()
  readonly #now: () => number
  readonly #note: (fact: Fact) => void
  readonly #onFreed: (key: string) => void
  readonly #lastGrant = new Map<string, number>()

  constructor(now: () => number, note: (fact: Fact) => void, onFreed: (key: string) => void) {
    this.#now = now
    this.#note = note
    this.#onFreed = onFreed
  }

  /** The record in force, if any. */
  held(key: string): ModelRecord | undefined {
    const record = this.records.get(key)
    return record && record.expiresAt > this.#now() ? record : undefined
  }

  acquire(ask: Ask, call: number): Answer {
    const { key, owner, leaseMs, holder } = ask
    const now = this.#now()
    const inForce = this.held(key)
    if (inForce && inForce.owner !== owner) {
      inForce.wanted = true
      this.#note({ is: 'denied', key, owner, by: inForce.owner })
      return { granted: false, retryInMs: inForce.expiresAt - now, holder: inForce.holder }
    }
    if (inForce) {
      inForce.expiresAt = Math.max(inForce.expiresAt, now + leaseMs)
      this.#note({ is: 'granted-again', key, owner, grant: inForce.grant, call })
      return { granted: true, grant: inForce.grant, previous: null }
    }
    const grant = this.#mint(key)
    const previous = this.records.get(key) ?? null
    this.records.set(key, {
      key,
      owner,
      holder,
      grant,
      since: now,
      leaseMs,
      expiresAt: now + leaseMs,
      wanted: false,
    })
    this.#note({ is: 'granted', key, owner, grant, leaseMs, call, tookOver: previous?.owner ?? null })
    return { granted: true, grant, previous: previous?.holder ?? null }
  }

  renew({ key, owner, leaseMs, rotate }: Renewal): RenewalAnswer {
    const record = this.held(key)
    if (record?.owner !== owner) {
      this.#note({ is: 'renewal-refused', key, owner })
      return { renewed: false }
    }
    record.expiresAt = Math.max(record.expiresAt, this.#now() + leaseMs)
    record.leaseMs = leaseMs
    if (rotate) record.grant = this.#mint(key)
    this.#note({ is: 'renewed', key, owner, grant: record.grant, rotated: rotate === true })
    return { renewed: true, grant: record.grant }
  }

  release({ key, owner }: Claim): ReleaseAnswer {
    const record = this.held(key)
    if (record?.owner !== owner) {
      this.#note({ is: 'release-missed', key, owner })
      return { released: false, wanted: false }
    }
    this.#note({ is: 'released', key, owner, grant: record.grant, wanted: record.wanted })
    this.#free(record)
    return { released: true, wanted: record.wanted }
  }

  list({ key, prefix = '', after = '', limit }: ListQuery): LockPage {
    const keys = [...this.records.keys()].filter((each) => each.startsWith(prefix) && each > after).sort()
    const found = keys.flatMap((each) => (key === undefined || key === each ? (this.held(each) ?? []) : []))
    const locks = found.slice(0, limit).map((record) => this.#shown(record))
    return { locks, next: found.length > limit ? (locks.at(-1)?.key ?? null) : null }
  }

  evict(key: string, grant?: number): LockRecord | null {
    const record = this.held(key)
    if (!record || (grant !== undefined && record.grant !== grant)) return null
    this.#note({ is: 'evicted', key, owner: record.owner, grant: record.grant })
    this.#free(record)
    return this.#shown(record)
  }

  /** As after FLUSHALL, or a fail-over to a replica that had seen nothing. Only the clock is left. */
  forget(): void {
    this.records.clear()
    this.#lastGrant.clear()
    this.#note({ is: 'forgot' })
  }

  #mint(key: string): number {
    const grant = Math.max((this.#lastGrant.get(key) ?? 0) + 1, Math.floor(this.#now() * 1000))
    this.#lastGrant.set(key, grant)
    return grant
  }

  #free(record: ModelRecord): void {
    this.records.delete(record.key)
    if (record.wanted) this.#onFreed(record.key)
  }

  #shown({ key, grant, holder, since, leaseMs, expiresAt, wanted }: ModelRecord): LockRecord {
    return { key, grant, holder, since, leaseMs, remainingMs: expiresAt - this.#now(), wanted }
  }
}
