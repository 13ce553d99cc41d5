import type {
  Answer,
  Ask,
  Claim,
  Fault,
  Holder,
  ListQuery,
  LockPage,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from '../../src/store.ts'

export interface Entry {
  key: string
  owner: string
  holder: Holder
  grant: number
  since: number
  leaseMs: number
  expiresAt: number
  wanted: boolean
}

export interface Listener {
  readonly keys: Set<string>
  readonly onFreed: (key: string) => void
}

/** What the clients of one run share: the server. */
export class ModelServer {
  readonly entries: Map<string, Entry> = new Map()
  readonly listeners: Set<Listener> = new Set()
  fence = 0
  down = false
}

/**
 * A correct store, taken apart into its decisions, so that a planted fault is one of them overridden.
 * Every object is a client of its own.
 */
export class ModelStore implements Store {
  readonly name = 'model'
  readonly server: ModelServer

  constructor(server: ModelServer) {
    this.server = server
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {}

  async acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
    const now = this.now()
    return asks.map((ask) => this.acquireOne(ask, now))
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly (RenewalAnswer | Fault)[]> {
    const now = this.now()
    return renewals.map((renewal) => this.renewOne(renewal, now))
  }

  async release(claims: readonly Claim[]): Promise<readonly (ReleaseAnswer | Fault)[]> {
    const now = this.now()
    return claims.map((claim) => this.releaseOne(claim, now))
  }

  async list(query: ListQuery): Promise<LockPage> {
    const now = this.now()
    const entries = this.listed(query, now)
    const locks = entries.slice(0, query.limit).map((entry) => this.record(entry, now))
    return { locks, next: entries.length > query.limit ? (locks.at(-1)?.key ?? null) : null }
  }

  async evict(key: string, grant?: number): Promise<LockRecord | null> {
    const now = this.now()
    const entry = this.find(key)
    if (!entry || this.expired(entry, now)) return null
    if (grant !== undefined && entry.grant !== grant) return null
    this.free(entry)
    return this.record(entry, now)
  }

  watch(onFreed: (key: string) => void): Watch {
    const listener: Listener = { keys: new Set(), onFreed }
    this.server.listeners.add(listener)
    return {
      add: (key) => {
        listener.keys.add(key)
        queueMicrotask(() => this.added(key, listener))
      },
      delete: (key) => void listener.keys.delete(key),
      close: async () => void this.server.listeners.delete(listener),
    }
  }

  now(): number {
    return performance.timeOrigin + performance.now()
  }

  /** Under which name a key is kept. */
  identity(key: string): string {
    return key
  }

  find(key: string): Entry | undefined {
    return this.server.entries.get(this.identity(key))
  }

  expired(entry: Entry, now: number): boolean {
    return entry.expiresAt <= now
  }

  owns(entry: Entry, claim: Claim): boolean {
    return entry.owner === claim.owner
  }

  mint(last: number, now: number): number {
    return Math.max(last + 1, Math.floor(now * 1000))
  }

  acquireOne(ask: Ask, now: number): Answer {
    const entry = this.find(ask.key)
    if (!entry || this.expired(entry, now)) return this.grant(ask, now, entry)
    return this.owns(entry, ask) ? this.grantAgain(entry, ask, now) : this.deny(entry, now)
  }

  grant(ask: Ask, now: number, before: Entry | undefined): Answer {
    const grant = this.mint(Math.max(this.server.fence, before?.grant ?? 0), now)
    const expiresAt = now + ask.leaseMs
    const entry: Entry = { ...ask, grant, since: Math.floor(now), expiresAt, wanted: false }
    this.server.entries.set(this.identity(ask.key), entry)
    return { granted: true, grant, previous: before?.holder ?? null }
  }

  grantAgain(entry: Entry, ask: Ask, now: number): Answer {
    entry.expiresAt = Math.max(entry.expiresAt, now + ask.leaseMs)
    return { granted: true, grant: entry.grant, previous: null }
  }

  deny(entry: Entry, now: number): Answer {
    entry.wanted = true
    return { granted: false, retryInMs: entry.expiresAt - now, holder: entry.holder }
  }

  renewOne(renewal: Renewal, now: number): RenewalAnswer {
    const entry = this.find(renewal.key)
    if (!entry || !this.owns(entry, renewal) || this.expired(entry, now)) return { renewed: false }
    entry.expiresAt = Math.max(entry.expiresAt, now + renewal.leaseMs)
    if (renewal.rotate) entry.grant = this.mint(entry.grant, now)
    if (renewal.raiseTo !== undefined) this.raise(entry, renewal.raiseTo)
    return { renewed: true, grant: entry.grant }
  }

  raise(entry: Entry, grant: number): void {
    entry.grant = Math.max(entry.grant, grant)
  }

  releaseOne(claim: Claim, now: number): ReleaseAnswer {
    const entry = this.find(claim.key)
    if (!entry || !this.owns(entry, claim)) return { released: false, wanted: false }
    this.free(entry)
    return { released: !this.expired(entry, now), wanted: entry.wanted }
  }

  free(entry: Entry): void {
    this.server.entries.delete(this.identity(entry.key))
    this.server.fence = Math.max(this.server.fence, entry.grant)
    if (entry.wanted) this.announce(entry.key)
  }

  announce(key: string): void {
    for (const { keys, onFreed } of this.server.listeners) {
      if (keys.has(key)) onFreed(key)
    }
  }

  /** A key may have come free between its denial and its being watched. */
  added(key: string, listener: Listener): void {
    const missed = !this.find(key) && listener.keys.has(key) && this.server.listeners.has(listener)
    if (missed) listener.onFreed(key)
  }

  matches(key: string, query: ListQuery): boolean {
    return (query.key ?? key) === key && key.startsWith(query.prefix ?? '')
  }

  /** What a query finds, in order, from its place onwards. */
  listed(query: ListQuery, now: number): Entry[] {
    return [...this.server.entries.values()]
      .filter((entry) => !this.expired(entry, now) && this.matches(entry.key, query))
      .filter((entry) => query.after === undefined || this.compare(entry.key, query.after) > 0)
      .toSorted((a, b) => this.compare(a.key, b.key))
  }

  compare(a: string, b: string): number {
    return Buffer.compare(Buffer.from(a), Buffer.from(b))
  }

  record(entry: Entry, now: number): LockRecord {
    const { key, grant, holder, since, leaseMs, expiresAt, wanted } = entry
    return { key, grant, holder, since, leaseMs, remainingMs: expiresAt - now, wanted }
  }
}
