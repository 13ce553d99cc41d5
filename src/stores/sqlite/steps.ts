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
} from '../../store.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from '../../databases/sqlite.ts'
import { FENCE_KEY } from './schema.ts'

/** How long the record of a holder that went away is kept, so that its successor learns of it. */
const KEEP_MS = 3_600_000
const SWEEP_LIMIT = 500
/** Up to here a call of the driver for each key is faster than one for all. */
const FEW = 4

/** A record, with numbers as numbers whatever the driver is set to. */
interface Row {
  readonly key: string
  readonly owner: string
  readonly grant: number
  readonly holder: Holder
  readonly grantedAt: number
  readonly leaseMs: number
  readonly renewedAt: number
  readonly expiresAt: number
  readonly wanted: boolean
  /** The clock was put back since, and the times differ from those in the file. */
  readonly shifted: boolean
}

/**
 * The steps of the contract, each to be run once, inside a transaction of its own.
 *
 * A record is deleted when its key is released. What it must leave behind, its grant number, goes into
 * the fence: one record for all keys, the highest grant ever dropped. With a single writer at a time
 * this keeps G3, as no grant can be computed before a drop and land after it.
 */
export class Steps {
  /** Wanted keys that the step freed. Not before the transaction is over. */
  readonly freed: string[] = []
  readonly #db: Connection
  readonly #clock: () => number

  constructor(db: Connection, clock: () => number) {
    this.#db = db
    this.#clock = clock
  }

  acquire(asks: readonly Ask[]): Answer[] {
    const { rows, now } = this.#read([...asks.map((ask) => ask.key), FENCE_KEY])
    const fence = rows[asks.length]?.grant ?? 0
    const taken: SqlValue[][] = []
    const prolonged: SqlValue[][] = []
    const wanted: string[] = []
    const answers = asks.map((ask, i): Answer => {
      const row = rows[i]
      if (!row || row.expiresAt <= now) {
        const grant = mint(Math.max(fence, row?.grant ?? 0), now)
        taken.push(newRecord(ask, grant, now))
        return { granted: true, grant, previous: row?.holder ?? null }
      }
      if (row.owner === ask.owner) {
        const expiresAt = Math.max(row.expiresAt, now + ask.leaseMs)
        prolonged.push([ask.key, row.grant, row.leaseMs, now, expiresAt])
        return { granted: true, grant: row.grant, previous: null }
      }
      // A waiter asks again and again: only what changes is written.
      if (row.shifted) prolonged.push([ask.key, row.grant, row.leaseMs, row.renewedAt, row.expiresAt])
      if (!row.wanted) wanted.push(ask.key)
      return { granted: false, retryInMs: row.expiresAt - now, holder: row.holder }
    })
    this.#write(this.#db.sql.take, taken)
    this.#write(this.#db.sql.prolong, prolonged)
    this.#write(this.#db.sql.want, wanted)
    return answers
  }

  renew(renewals: readonly Renewal[]): RenewalAnswer[] {
    const { rows, now } = this.#read(renewals.map((renewal) => renewal.key))
    const prolonged: SqlValue[][] = []
    const answers = renewals.map(({ key, owner, leaseMs, rotate, raiseTo = 0 }, i): RenewalAnswer => {
      const row = rows[i]
      if (!row || row.owner !== owner || row.expiresAt <= now) return { renewed: false }
      const grant = rotate ? mint(row.grant, now) : Math.max(row.grant, raiseTo)
      prolonged.push([key, grant, leaseMs, now, Math.max(row.expiresAt, now + leaseMs)])
      return { renewed: true, grant }
    })
    this.#write(this.#db.sql.prolong, prolonged)
    return answers
  }

  release(claims: readonly Claim[]): ReleaseAnswer[] {
    const { rows, now } = this.#read(claims.map((claim) => claim.key))
    const dropped: Row[] = []
    const answers = claims.map(({ owner }, i): ReleaseAnswer => {
      const row = rows[i]
      if (!row || row.owner !== owner) return { released: false, wanted: false }
      // Its owner is done with it even if it has run out: nothing is left to take over.
      dropped.push(row)
      return { released: row.expiresAt > now, wanted: row.wanted }
    })
    this.#drop(dropped)
    return answers
  }

  evict(key: string, grant: number | undefined): LockRecord | null {
    const { rows, now } = this.#read([key])
    const [row] = rows
    if (!row || row.expiresAt <= now || (grant !== undefined && row.grant !== grant)) return null
    this.#drop([row])
    return toRecord(row, now)
  }

  list({ key, prefix, after, limit }: ListQuery): LockPage {
    const now = this.#clock()
    let sql = this.#db.sql.list
    const values: SqlValue[] = [now]
    if (key !== undefined) {
      sql += ' and key = ?'
      values.push(key)
    }
    if (prefix !== undefined) {
      // Not LIKE or GLOB, which give some characters a meaning of their own.
      sql += ' and key >= ? and substr(key, 1, length(?)) = ?'
      values.push(prefix, prefix, prefix)
    }
    if (after !== undefined) {
      sql += ' and key > ?'
      values.push(after)
    }
    const rows = this.#db.all(`${sql} order by key limit ?`, ...values, limit + 1)
    const locks = rows.slice(0, limit).map((raw) => toRecord(toRow(raw, now), now))
    return { locks, next: rows.length > limit ? (locks.at(-1)?.key ?? null) : null }
  }

  /** Those of the keys that nobody holds. */
  free(keys: readonly string[]): string[] {
    const rows = this.#db.all(this.#db.sql.free, JSON.stringify(keys), this.#clock()) as { key: string }[]
    return rows.map((row) => row.key)
  }

  /** Removes records whose holders went away long ago, a bounded number; whether there may be more. */
  sweep(): boolean {
    const rows = this.#db.all(this.#db.sql.stale, this.#clock() - KEEP_MS, SWEEP_LIMIT)
    const stale = rows as { key: string; grant_number: number }[]
    this.#drop(stale.map((row) => ({ key: row.key, grant: Number(row.grant_number), wanted: false })))
    return stale.length === SWEEP_LIMIT
  }

  /** Positional: what is known of each key. */
  #read(keys: readonly string[]): { rows: (Row | undefined)[]; now: number } {
    const found = keys.length <= FEW ? this.#readEach(keys) : this.#readAll(keys)
    // Not before: the first look fixes which transactions this one comes after, and with them the
    // times in the file must rise.
    const now = this.#clock()
    return { rows: found.map((raw) => (raw ? toRow(raw, now) : undefined)), now }
  }

  #readEach(keys: readonly string[]): unknown[] {
    return keys.map((key) => this.#db.get(this.#db.sql.readOne, key))
  }

  #readAll(keys: readonly string[]): unknown[] {
    const found: unknown[] = Array.from({ length: keys.length })
    for (const row of this.#db.all(this.#db.sql.read, JSON.stringify(keys))) {
      found[Number((row as { position: number }).position)] = row
    }
    return found
  }

  #write(sql: string, items: readonly unknown[]): void {
    if (items.length > 0) this.#db.run(sql, JSON.stringify(items))
  }

  #drop(rows: readonly Pick<Row, 'key' | 'grant' | 'wanted'>[]): void {
    if (rows.length === 0) return
    for (const { key, wanted } of rows) if (wanted) this.freed.push(key)
    this.#write(
      this.#db.sql.drop,
      rows.map((row) => row.key),
    )
    this.#db.run(
      this.#db.sql.raiseFence,
      rows.reduce((highest, row) => Math.max(highest, row.grant), 0),
    )
  }
}

function mint(last: number, now: number): number {
  return Math.max(last + 1, Math.floor(now * 1000))
}

function newRecord({ key, owner, holder, leaseMs }: Ask, grant: number, now: number): SqlValue[] {
  const context = holder.context === null ? null : storable(holder.context)
  return [
    key,
    owner,
    grant,
    storable(holder.service),
    storable(holder.instance),
    context,
    now,
    leaseMs,
    now,
    now + leaseMs,
  ]
}

// libsql ends the process when it reads half a surrogate pair; node:sqlite cuts a text at a NUL.
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function toRow(raw: unknown, now: number): Row {
  const row = raw as Record<string, string & number>
  const renewedAt = Number(row['renewed_at'])
  const expiresAt = Number(row['expires_at'])
  // A time to come means that the clock was put back. Counted from now, a lease cannot end before its
  // holder expects it, and a holder that went away does not keep the key for as long as the step was.
  const shift = Math.max(0, renewedAt - now)
  return {
    key: String(row['key']),
    owner: String(row['owner']),
    grant: Number(row['grant_number']),
    holder: {
      service: String(row['service']),
      instance: String(row['instance']),
      context: row['context'] ?? null,
    },
    grantedAt: Number(row['granted_at']),
    leaseMs: Number(row['lease_ms']),
    renewedAt: renewedAt - shift,
    expiresAt: expiresAt - shift,
    wanted: Number(row['wanted']) !== 0,
    shifted: shift > 0,
  }
}

function toRecord(row: Row, now: number): LockRecord {
  return {
    key: row.key,
    grant: row.grant,
    holder: row.holder,
    since: Math.floor(row.grantedAt),
    leaseMs: row.leaseMs,
    remainingMs: row.expiresAt - now,
    wanted: row.wanted,
  }
}
