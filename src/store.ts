/**
 * The contract between holdfast's core and a backend. A store is a few atomic, batched steps on a
 * server; it knows nothing of waiting, retrying or renewing, which live in core, once.
 *
 * What every step must keep, whatever the server (`holdfast/testing` checks all of it):
 *
 * - A step decides each key on the store's own clock, atomically. Callers never send a time of day.
 * - Answers are positional: `answers[i]` belongs to the i-th item. Keys are unique within a batch.
 *   Lock rows in sorted key order, so that two batches never wait for each other.
 * - A step may arrive twice, late or out of order, and must then still be harmless.
 * - Core drops a call that takes too long and treats its outcome as unknown; the store need not
 *   time its calls out, but should not retry for longer than a few seconds.
 */
export interface Store {
  /** Short name for messages and metrics: `memory`, `sqlite`, `postgres`. */
  readonly name: string

  /** Creates what the store needs. Many processes may do so at once; called again after a failure. */
  open(): Promise<void>

  /**
   * Grants each key that is free or whose lease has run out. The owner that already holds the key
   * gets the same grant number and a fresh lease, never a shorter one: a caller whose reply was lost
   * may ask again, and a late copy of an ask may arrive at any time.
   * A denial notes that the key is wanted, until the next grant.
   */
  acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]>

  /** Prolongs leases. Never brings an expiry closer. A lease that has run out stays lost. */
  renew(renewals: readonly Renewal[]): Promise<readonly (RenewalAnswer | Fault)[]>

  /** Frees keys of their owner, run out or not, and wakes those who want them. */
  release(claims: readonly Claim[]): Promise<readonly (ReleaseAnswer | Fault)[]>

  /** Held keys only, ordered by key where the server can; pages are cut at `limit`. */
  list(query: ListQuery): Promise<LockPage>

  /**
   * Frees a key whoever holds it, and wakes those who want it. With `grant`, only if that grant is
   * still the one in force. Resolves to what was removed, or null if nothing was.
   */
  evict(key: string, grant?: number): Promise<LockRecord | null>

  /**
   * Push. Absent where the server has none; core then polls. `onFreed(key)` means "ask again now":
   * it may come for no reason, and must come for every added key when messages may have been missed:
   * after subscribing, after a reconnect, and for a key that came free between its denial and `add`.
   * Never from inside `add` itself. Core polls slowly behind it all the same.
   */
  watch?(onFreed: (key: string) => void): Watch

  /** Connections of the driver, for people and metrics; null, or absent, where it does not tell. */
  pool?(): Pool | null

  /** Ends what the store itself opened; never the user's client. */
  close(): Promise<void>
}

export interface Pool {
  readonly open: number
  /** Of those open: without work. */
  readonly idle: number
  /** Calls that wait for a connection. */
  readonly waiting: number
}

/** Who holds or asks for a key: for people and metrics, never to decide anything. */
export interface Holder {
  readonly service: string
  /** One process: host, process id and a random part. */
  readonly instance: string
  /** Why the key is held, as text; a JSON value given by the caller arrives as JSON text. */
  readonly context: string | null
}

export interface Ask {
  readonly key: string
  /** Random, new for each grant. Proves ownership in `renew` and `release`. */
  readonly owner: string
  /** Whole milliseconds. */
  readonly leaseMs: number
  readonly holder: Holder
}

export type Answer = Grant | Denial

export interface Grant {
  readonly granted: true
  /**
   * A positive safe integer, `max(last number of the key + 1, store clock in µs)`: it rises for a key
   * for as long as the key is used, also past release, expiry, eviction and clean-up.
   */
  readonly grant: number
  /** The holder whose lease had run out unreleased; null if the key was free, or the store cannot tell. */
  readonly previous: Holder | null
}

export interface Denial {
  readonly granted: false
  /** Time left on the lease in force. The key may be free sooner; it is not held longer unrenewed. */
  readonly retryInMs: number
  readonly holder: Holder
}

export interface Claim {
  readonly key: string
  readonly owner: string
}

export interface Renewal extends Claim {
  readonly leaseMs: number
  /** Raise the grant number in the same step. */
  readonly rotate?: boolean
  /**
   * Raise the grant number to exactly this in the same step, unless it is higher already; a repeat changes
   * nothing. It may be ahead of the store's clock, and the next grant is higher all the same. Never with `rotate`.
   */
  readonly raiseTo?: number
}

export type RenewalAnswer =
  | { readonly renewed: true; readonly grant: number }
  /** Final: run out, released, evicted or taken. No later renewal of this owner can succeed. */
  | { readonly renewed: false }

export interface ReleaseAnswer {
  /** Whether the lease was still in force. A repeated release says false. */
  readonly released: boolean
  /**
   * Whether someone was denied the key since it was granted; also if the lease has run out. False if nothing is left of
   * it: it was released or evicted, another has the key, or the server itself has removed what expired.
   */
  readonly wanted: boolean
}

/** One item of a batch failed while others did not, as when one node of a cluster is down. */
export interface Fault {
  readonly error: unknown
}

export interface ListQuery {
  /** Exactly this key. */
  readonly key?: string
  readonly prefix?: string
  /** The `next` of the page before. */
  readonly after?: string
  readonly limit: number
}

export interface LockPage {
  readonly locks: readonly LockRecord[]
  /** Pass as `after` for the next page; null on the last. */
  readonly next: string | null
}

/** A key that is held, as the store has it: what `list` and `inspect` show. */
export interface LockRecord {
  readonly key: string
  /** The store's number of the grant, for `forceRelease`. The token is this × 1024, plus the hand-offs since. */
  readonly grant: number
  readonly holder: Holder
  /** When the key was granted: milliseconds since 1970 on the store's clock. */
  readonly since: number
  /** The length of the lease. */
  readonly leaseMs: number
  /** What is left of the lease, unless it is renewed. */
  readonly remainingMs: number
  /** Whether someone was denied the key since it was granted. */
  readonly wanted: boolean
}

export interface Watch {
  add(key: string): void
  delete(key: string): void
  close(): Promise<void>
}
